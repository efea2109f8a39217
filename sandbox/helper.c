/* A named process that sleeps: the processes a task asks about.
 *
 * What it is to do stands outside its command line, which belongs to the world:
 *   HELPER_KEY   the line of HELPER_PLAN that is this process; empty for the first, which is none of the world's: it
 *                starts the lines without a PARENT, each in a session of its own, and ends
 *   HELPER_PLAN  one line a process: KEY US PARENT US RSS_MB US VIRT_MB US HOW US NAME [US ARG]...
 *                (US = 0x1f, lines end in \n)
 * It starts the lines whose PARENT is its own key as its children, each with all that is below it before the next, so
 * that process ids are given out in the order of the plan. Then it takes RSS_MB of resident and VIRT_MB of merely mapped
 * memory, and waits for ever. HOW says in words what else is so:
 *   thread=NAME          it has a further thread of that name; without one, of the process's
 *   own-session          it leads a session of its own
 *   subreaper            orphans below it become its children
 *   ends                 it ends once what is below it has started
 *   ids=another-digit    before it starts, process ids are spent until they have one digit more
 *   ids=parents-digits   ... until they begin with the digits of its starter's
 * An argument %P is the process id of its starter, %PP that of its starter's.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIELDS 512
#define CHUNK ((size_t)4 << 20)
#define STACK ((size_t)64 << 10)
#define SELF "/opt/helper/helper"
/* The open file on which a process says that it and all below it have started. */
#define STARTED 3
enum { KEY, PARENT, RSS, VIRT, HOW, NAME };

static char own_id[24], starters_id[24];

static void fail(const char *what) {
    perror(what);
    exit(111);
}

/* Cut a line at its separators, in place; the number of fields. */
static int split(char *line, char separator, char **fields) {
    int count = 0;
    for (char *at = line; at && count < FIELDS - 1;) {
        fields[count++] = at;
        at = strchr(at, separator);
        if (at) *at++ = 0;
    }
    fields[count] = NULL;
    return count;
}

/* Use up one process id; which it was. */
static long spend(void) {
    pid_t child = vfork();
    if (child == 0) _exit(0);
    if (child < 0) fail("vfork");
    waitpid(child, NULL, 0);
    return child;
}

/* Whether a word is among those of HOW. */
static int says(char **how, const char *word) {
    for (; *how; how++)
        if (!strcmp(*how, word)) return 1;
    return 0;
}

/* Spend process ids until the next one is as HOW asks. */
static void reach(char **how) {
    long last, next = 10, count = 1;
    if (says(how, "ids=another-digit")) {
        for (last = spend(); next <= last; next *= 10) {}
    } else if (says(how, "ids=parents-digits")) {
        /* These begin with an id's digits: it alone, ten from ten times it, a hundred from a hundred times it. */
        for (last = spend(), next = getpid(); next + count <= last + 1; count *= 10) next *= 10;
    } else {
        return;
    }
    while (last + 1 < next) last = spend();
}

/* Start a process and wait until it and all below it have started. */
static void start(char **fields) {
    char *how[FIELDS], byte;
    int said[2];
    split(fields[HOW], ' ', how);
    reach(how);
    if (pipe2(said, O_CLOEXEC)) fail("pipe");
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        if (dup2(said[1], STARTED) < 0) fail("dup2");
        if ((!*fields[PARENT] || says(how, "own-session")) && setsid() < 0) fail("setsid");
        for (char **arg = fields + NAME + 1; *arg; arg++) {
            if (!strcmp(*arg, "%P")) *arg = own_id;
            if (!strcmp(*arg, "%PP")) *arg = starters_id;
        }
        if (setenv("HELPER_KEY", fields[KEY], 1)) fail("setenv");
        execv(SELF, fields + NAME);
        fail("exec");
    }
    close(said[1]);
    if (read(said[0], &byte, 1) != 1) fail(fields[KEY]);
    close(said[0]);
}

/* Take resident memory: a few pages, mapped as often as it takes. Resident is what a process has mapped and present, so
 * `ps`, /proc and .NET all count every mapping; 300 MB of pages of its own would cost a third of a second to clear, in
 * every execution, and a third of the container's room. Pages of a memory file are never given back under pressure. */
static void reside(size_t bytes) {
    int file = memfd_create("memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, CHUNK)) fail("memfd");
    for (size_t done = 0; done < bytes; done += CHUNK) {
        size_t size = bytes - done < CHUNK ? bytes - done : CHUNK;
        if (mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0) == MAP_FAILED) fail("mmap");
    }
    close(file);
}

/* Make the kernel count what was taken. Before Linux 6.2 it adds a process's pages up after every 64 faults only, and what
 * is left over stays out of /proc while the process sleeps, up to 4 MiB. Pages that are only read are all the same one:
 * they are faults, and count as nothing. */
static void be_counted(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 128 * page;
    volatile char *read = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (read == MAP_FAILED) fail("mmap");
    for (size_t at = 0; at < size; at += page) (void)read[at];
    munmap((void *)read, size);
}

static void *sleep_on(void *unused) {
    for (;;) pause();
    return unused;
}

static void start_thread(const char *name) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    if (pthread_attr_setstacksize(&small, STACK) || pthread_create(&thread, &small, sleep_on, NULL)) fail("thread");
    if (*name && pthread_setname_np(thread, name)) fail("thread's name");
}

int main(int argc, char **argv) {
    const char *key = getenv("HELPER_KEY"), *given = getenv("HELPER_PLAN");
    if (argc < 1 || !key || !given) return 112;
    /* The kernel names a process after its file; all helpers are one file. */
    prctl(PR_SET_NAME, argv[0]);
    /* Nobody waits for a process that ends: it leaves no zombie. */
    signal(SIGCHLD, SIG_IGN);
    sprintf(own_id, "%ld", (long)getpid());
    sprintf(starters_id, "%ld", (long)getppid());

    char *plan = strdup(given), *fields[FIELDS], *how[FIELDS] = {NULL}, *rest = plan, *line;
    long rss = 0, virt = 0;
    if (!plan) fail("strdup");
    while ((line = strsep(&rest, "\n"))) {
        if (split(line, '\x1f', fields) <= NAME) continue;
        if (!strcmp(fields[KEY], key)) {
            rss = atol(fields[RSS]);
            virt = atol(fields[VIRT]);
            split(fields[HOW], ' ', how);
            if (says(how, "subreaper") && prctl(PR_SET_CHILD_SUBREAPER, 1)) fail("subreaper");
        } else if (!strcmp(fields[PARENT], key)) {
            start(fields);
        }
    }
    for (char **word = how; *word; word++)
        if (!strncmp(*word, "thread=", 7)) start_thread(*word + 7);
    if (write(STARTED, "", 1) != 1) fail("write");
    close(STARTED);
    if (!*key || says(how, "ends")) return 0;
    free(plan);

    if (virt > 0) {
        void *map = mmap(NULL, (size_t)virt << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED) fail("mmap");
    }
    if (rss > 0) reside((size_t)rss << 20);
    be_counted();
    for (;;) pause();
}
