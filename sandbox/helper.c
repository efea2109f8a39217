/* A named process that sleeps: the processes a task asks about.
 *
 * Its instructions come by environment variables, because its command line belongs to the world:
 *   HELPER_KEY   the line of HELPER_PLAN that is this process; empty for the first process, which
 *                is not part of the world: it starts the lines without a PARENT, each in its own
 *                session, and ends
 *   HELPER_PLAN  one line a process: KEY US PARENT US RSS_MB US VIRT_MB US HOW US NAME [US ARG]...
 *                (US = 0x1f, lines end in \n)
 * It starts the lines whose PARENT is its own key as its children, each with all its descendants
 * before the next, so that process ids follow the order of the plan. Then it takes RSS_MB of
 * resident and VIRT_MB of merely mapped memory, and waits for ever. HOW holds further options:
 *   thread=NAME          it has one more thread of that name; without a name, of the process's name
 *   own-session          it leads its own session
 *   subreaper            orphans below it become its children
 *   ends                 it ends once its descendants have started
 *   ids=another-digit    before it starts, process ids are used up until they have one digit more
 *   ids=parents-digits   ... until they begin with the digits of its parent's id
 * An argument %P is the process id of its parent, %PP that of its parent's parent.
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
#define CHUNK ((size_t)1 << 20)
#define STACK ((size_t)64 << 10)
#define SELF "/opt/helper/helper"
#define PAGE ((size_t)sysconf(_SC_PAGESIZE))
/* Open files of each process: on the first it reports that it and its descendants have started, the
 * second is memory that all of them map. */
enum { STARTED = 3, MEMORY };
enum { KEY, PARENT, RSS, VIRT, HOW, NAME };

static char own_id[24], parents_id[24];

static void fail(const char *what) {
    perror(what);
    exit(111);
}

/* Split a line at its separators, in place; returns the number of fields. */
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

/* Use up one process id and return it. */
static long use_up_id(void) {
    pid_t child = vfork();
    if (child == 0) _exit(0);
    if (child < 0) fail("vfork");
    waitpid(child, NULL, 0);
    return child;
}

/* Whether HOW holds a word. */
static int has(char **how, const char *word) {
    for (; *how; how++)
        if (!strcmp(*how, word)) return 1;
    return 0;
}

/* Use up process ids until the next one is as HOW asks. */
static void reach_id(char **how) {
    long last, next = 10, count = 1;
    if (has(how, "ids=another-digit")) {
        for (last = use_up_id(); next <= last; next *= 10) {}
    } else if (has(how, "ids=parents-digits")) {
        /* Numbers that begin with an id's digits: itself, ten from ten times it, a hundred from a
         * hundred times it. */
        for (last = use_up_id(), next = getpid(); next + count <= last + 1; count *= 10) next *= 10;
    } else {
        return;
    }
    while (last + 1 < next) last = use_up_id();
}

/* Start a process and wait until it and its descendants have started. */
static void start(char **fields) {
    char *how[FIELDS], byte;
    int started[2];
    split(fields[HOW], ' ', how);
    reach_id(how);
    if (pipe2(started, O_CLOEXEC)) fail("pipe");
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        if (dup2(started[1], STARTED) < 0) fail("dup2");
        if ((!*fields[PARENT] || has(how, "own-session")) && setsid() < 0) fail("setsid");
        for (char **arg = fields + NAME + 1; *arg; arg++) {
            if (!strcmp(*arg, "%P")) *arg = own_id;
            if (!strcmp(*arg, "%PP")) *arg = parents_id;
        }
        if (setenv("HELPER_KEY", fields[KEY], 1)) fail("setenv");
        execv(SELF, fields + NAME);
        fail("exec");
    }
    close(started[1]);
    if (read(started[0], &byte, 1) != 1) fail(fields[KEY]);
    close(started[0]);
}

/* Map some pages and read each of them, so that the kernel counts them as resident. */
static volatile char *take(size_t bytes, int flags, int file) {
    volatile char *pages = mmap(NULL, bytes, PROT_READ, flags, file, 0);
    if (pages == MAP_FAILED) fail("mmap");
    for (size_t at = 0, page = PAGE; at < bytes; at += page) (void)pages[at];
    return pages;
}

/* Take resident memory: the same few pages, mapped as often as needed. `ps`, /proc and .NET count
 * every mapping. Clearing 300 MB of separate pages would take a third of a second in every
 * execution, and a third of the container's memory. A read maps the pages around it too, which is
 * faster than MAP_POPULATE. Larger chunks take longer to clear, smaller ones longer to map. Pages
 * of a memory file are never reclaimed under pressure. */
static void reside(size_t bytes) {
    for (size_t done = 0; done < bytes; done += CHUNK)
        take(bytes - done < CHUNK ? bytes - done : CHUNK, MAP_SHARED, MEMORY);
}

/* Make the kernel count all resident pages. Before Linux 6.2 it adds a process's pages up after
 * every 64 faults only, so /proc lacks up to 4 MiB while the process sleeps. Pages that are only
 * read all map the zero page: they cause faults and take no memory. */
static void update_count(void) {
    munmap((void *)take(128 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1), 128 * PAGE);
}

static void *sleep_on(void *unused) {
    for (;;) pause();
    return unused;
}

static void start_thread(const char *name) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    if (pthread_attr_setstacksize(&small, STACK)) fail("stack");
    if (pthread_create(&thread, &small, sleep_on, NULL)) fail("thread");
    if (*name && pthread_setname_np(thread, name)) fail("thread's name");
}

int main(int argc, char **argv) {
    const char *key = getenv("HELPER_KEY"), *given = getenv("HELPER_PLAN");
    if (argc < 1 || !key || !given) return 112;
    /* The kernel names a process after its file, and all helpers are one file. */
    prctl(PR_SET_NAME, argv[0]);
    /* No process waits for its children: one that ends leaves no zombie. */
    signal(SIGCHLD, SIG_IGN);
    sprintf(own_id, "%ld", (long)getpid());
    sprintf(parents_id, "%ld", (long)getppid());
    if (!*key && (memfd_create("memory", 0) != MEMORY || ftruncate(MEMORY, CHUNK))) fail("memory");

    char *plan = strdup(given), *fields[FIELDS], *how[FIELDS] = {NULL}, *rest = plan, *line;
    long rss = 0, virt = 0;
    if (!plan) fail("strdup");
    while ((line = strsep(&rest, "\n"))) {
        if (split(line, '\x1f', fields) <= NAME) continue;
        if (!strcmp(fields[KEY], key)) {
            rss = atol(fields[RSS]);
            virt = atol(fields[VIRT]);
            split(fields[HOW], ' ', how);
            if (has(how, "subreaper") && prctl(PR_SET_CHILD_SUBREAPER, 1)) fail("subreaper");
        } else if (!strcmp(fields[PARENT], key)) {
            start(fields);
        }
    }
    for (char **word = how; *word; word++)
        if (!strncmp(*word, "thread=", 7)) start_thread(*word + 7);
    if (write(STARTED, "", 1) != 1) fail("write");
    close(STARTED);
    if (!*key || has(how, "ends")) return 0;
    free(plan);

    if (virt > 0) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        if (mmap(NULL, (size_t)virt << 20, PROT_NONE, flags, -1, 0) == MAP_FAILED) fail("mmap");
    }
    if (rss > 0) reside((size_t)rss << 20);
    update_count();
    for (;;) pause();
}
