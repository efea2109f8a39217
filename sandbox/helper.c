/* A named process that sleeps: the processes a task asks about.
 *
 * What it is to do stands outside its command line, which belongs to the world:
 *   HELPER_KEY   the line of HELPER_PLAN that is this process
 *   HELPER_PLAN  one line a process: KEY US PARENT US RSS_MB US VIRT_MB US NAME [US ARG]...   (US = 0x1f, lines end in \n)
 * It starts the lines whose PARENT is its own key as its children, takes RSS_MB of resident and VIRT_MB of merely
 * mapped memory, and waits for ever.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FIELDS 512
#define CHUNK ((size_t)4 << 20)
#define SELF "/opt/helper/helper"

static void fail(const char *what) {
    perror(what);
    exit(111);
}

/* Cut a line at its separators, in place; the number of fields. */
static int split(char *line, char **fields) {
    int count = 0;
    for (char *at = line; at && count < FIELDS - 1;) {
        fields[count++] = at;
        at = strchr(at, '\x1f');
        if (at) *at++ = 0;
    }
    fields[count] = NULL;
    return count;
}

static void start(char **fields) {
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child > 0) return;
    if (setenv("HELPER_KEY", fields[0], 1)) fail("setenv");
    execv(SELF, fields + 4);
    fail("exec");
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

int main(int argc, char **argv) {
    const char *key = getenv("HELPER_KEY"), *given = getenv("HELPER_PLAN");
    if (argc < 1 || !key || !given) return 112;
    /* The kernel names a process after its file; all helpers are one file. */
    prctl(PR_SET_NAME, argv[0]);

    char *plan = strdup(given), *fields[FIELDS], *rest = plan, *line;
    long rss = 0, virt = 0;
    if (!plan) fail("strdup");
    while ((line = strsep(&rest, "\n"))) {
        if (split(line, fields) < 5) continue;
        if (!strcmp(fields[0], key)) {
            rss = atol(fields[2]);
            virt = atol(fields[3]);
        } else if (!strcmp(fields[1], key)) {
            start(fields);
        }
    }
    free(plan);

    if (virt > 0) {
        void *map = mmap(NULL, (size_t)virt << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED) fail("mmap");
    }
    if (rss > 0) reside((size_t)rss << 20);
    be_counted();
    for (;;) pause();
}
