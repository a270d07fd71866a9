#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "system_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <dirent.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

typedef struct {
    void (*body)(void *);
    void *context;
    /* Linux takes no longer one. */
    char name[16];
} started_thread;

static void *run_thread(void *pointer) {
    started_thread thread = *(started_thread *)pointer;
    free(pointer);
#if defined(__APPLE__)
    pthread_setname_np(thread.name);
#else
    pthread_setname_np(pthread_self(), thread.name);
#endif
    thread.body(thread.context);
    return NULL;
}

int functions_start_thread(const char *name, size_t stack_size, void (*body)(void *), void *context) {
    started_thread *thread = malloc(sizeof *thread);
    if (thread == NULL) return ENOMEM;
    thread->body = body;
    thread->context = context;
    snprintf(thread->name, sizeof thread->name, "%s", name);
    pthread_attr_t attributes;
    int code = pthread_attr_init(&attributes);
    if (code == 0) {
        pthread_t id;
        code = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        if (code == 0 && stack_size > 0) code = pthread_attr_setstacksize(&attributes, stack_size);
        if (code == 0) code = pthread_create(&id, &attributes, run_thread, thread);
        pthread_attr_destroy(&attributes);
    }
    if (code != 0) free(thread);
    return code;
}

int functions_exchange(const char *path, const char *other) {
#if defined(__linux__)
    /* glibc has the function, musl has not. */
    return (int)syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 2 /* RENAME_EXCHANGE */);
#else
    return renamex_np(path, other, RENAME_SWAP);
#endif
}

int functions_file_status(const char *path, unsigned int *mode, unsigned int *owner) {
    struct stat status;
    if (stat(path, &status) != 0) return -1;
    *mode = status.st_mode;
    *owner = status.st_uid;
    return 0;
}

int functions_file_stamp(const char *path, long long stamp[6]) {
    struct stat status;
    if (stat(path, &status) != 0) return -1;
#if defined(__APPLE__)
    struct timespec time = status.st_mtimespec;
#else
    struct timespec time = status.st_mtim;
#endif
    stamp[0] = (long long)status.st_dev;
    stamp[1] = (long long)status.st_ino;
    stamp[2] = (long long)status.st_mode;
    stamp[3] = (long long)status.st_size;
    stamp[4] = (long long)time.tv_sec;
    stamp[5] = (long long)time.tv_nsec;
    return 0;
}

/* Gives the file at a path or, if the path is null, that of a descriptor. */
static int give_to_owner(int descriptor, const char *path, const char *directory) {
    struct stat given, around;
    if (geteuid() != 0) return 0;
    if ((path ? lstat(path, &given) : fstat(descriptor, &given)) != 0 || stat(directory, &around) != 0) return -1;
    /* Not each file system has owners to change. */
    if (given.st_uid == around.st_uid) return 0;
    return path ? lchown(path, around.st_uid, around.st_gid) : fchown(descriptor, around.st_uid, around.st_gid);
}

int functions_give_to_owner(int descriptor, const char *directory) {
    return give_to_owner(descriptor, NULL, directory);
}

int functions_give_path_to_owner(const char *path, const char *directory) {
    return give_to_owner(-1, path, directory);
}

void functions_forbid_core_dumps(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) != 0) return;
    /* Limits dumps to 1 byte, not 0: with a limit of 0 Linux still pipes dumps to a program, with 1 it doesn't. */
    if (limit.rlim_max > 1) limit.rlim_max = 1;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
#if defined(__linux__)
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

void functions_return_freed_memory(void) {
#if defined(__GLIBC__)
    /* A fixed threshold: by itself it grows to the largest block that was freed. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
/* The memory that the process holds beyond what is allocated, without mapped files. */
static size_t unused_bytes(void) {
    unsigned long all = 0, resident = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) return 0;
    if (fscanf(file, "%lu %lu %lu", &all, &resident, &shared) != 3) resident = shared = 0;
    fclose(file);
    struct mallinfo2 info = mallinfo2();
    size_t held = (resident - shared) * (size_t)sysconf(_SC_PAGESIZE), used = info.uordblks + info.hblkhd;
    return held > used ? held - used : 0;
}

void functions_trim_freed_memory(size_t least) {
    /* What trimming can't return: trimming again would cost the same for nothing. */
    static size_t kept = 0;
    size_t unused = unused_bytes();
    if (unused < kept) kept = unused;
    if (unused < kept + least) return;
    malloc_trim(0);
    kept = unused_bytes();
}
#else
void functions_trim_freed_memory(size_t least) { (void)least; }
#endif

#if defined(__linux__)
/* Whether all pages of a range that are in memory are those of their file. Others have been changed: by a debugger or a probe,
   or by relocations where they are in code. -1 if that can't be found out. */
static int is_as_in_file(int pages, uintptr_t start, uintptr_t end, uintptr_t page) {
    uint64_t entries[512];
    for (uintptr_t first = start / page; first < end / page;) {
        size_t count = end / page - first;
        if (count > 512) count = 512;
        if (pread(pages, entries, count * 8, (off_t)(first * 8)) != (ssize_t)(count * 8)) return -1;
        for (size_t index = 0; index < count; index++) {
            /* Present or swapped, and no page of a file: see the kernel's Documentation/admin-guide/mm/pagemap. */
            if ((entries[index] >> 62) != 0 && ((entries[index] >> 61) & 1) == 0) return 0;
        }
        first += count;
    }
    return 1;
}

static int release_pages(struct dl_phdr_info *program, size_t size, void *context) {
    (void)size;
    int pages = *(int *)context;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < program->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &program->dlpi_phdr[index];
        /* Relocated data is in segments that can be written, also where it is protected later. */
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0) continue;
        uintptr_t start = program->dlpi_addr + segment->p_vaddr, end = start + segment->p_filesz;
        /* What shares a page with another segment stays. */
        start = (start + page - 1) & ~(page - 1);
        end &= ~(page - 1);
        if (start < end && is_as_in_file(pages, start, end, page) == 1) {
            madvise((void *)start, end - start, MADV_DONTNEED);
        }
    }
    return 0;
}

void functions_release_program_pages(void) {
    int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pages < 0) return;
    dl_iterate_phdr(release_pages, &pages);
    close(pages);
}
#else
void functions_release_program_pages(void) {}
#endif

#if defined(__linux__) && defined(SYS_sched_setattr)
/* The first version of the kernel's struct sched_attr, which not all C libraries have. */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static void shorten_turns(int thread, uint64_t nanoseconds) {
    struct scheduling scheduling = {0};
    if (syscall(SYS_sched_getattr, thread, &scheduling, sizeof scheduling, 0) != 0) return;
    /* 0 is SCHED_OTHER; for the others `runtime` has another meaning, or none. */
    if (scheduling.policy != 0) return;
    scheduling.size = sizeof scheduling;
    scheduling.runtime = nanoseconds;
    syscall(SYS_sched_setattr, thread, &scheduling, 0);
}
#endif

void functions_run_in_short_turns(void) {
#if defined(__linux__) && defined(SYS_sched_setattr)
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL) return;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        int thread = atoi(entry->d_name);
        if (thread > 0) shorten_turns(thread, 100000);
    }
    closedir(threads);
#endif
}

_Thread_local int functions_steps = 0;

void functions_begin_long_work(void) { functions_steps = 512; }

void functions_end_long_work(void) { functions_steps = 0; }

void functions_give_way(void) {
    if (functions_steps == 0) return;
    functions_steps = 512;
    sched_yield();
}

long long functions_file_size(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (long long)status.st_size : -1;
}

void functions_write_output_by_line(void) { setvbuf(stdout, NULL, _IOLBF, 0); }

int functions_ignores_signal(int number) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0) return 0;
    return !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
}

void functions_kill_own_group(void) {
    /* Only if this process leads its group: a shared group isn't its own. */
    if (getpgrp() == getpid()) kill(0, SIGKILL);
    kill(getpid(), SIGKILL);
}

static const int crash_signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
enum { crash_signal_count = sizeof crash_signals / sizeof crash_signals[0], max_crash_sockets = 64 };
static struct sigaction crash_handlers[crash_signal_count];
static int crash_sockets[max_crash_sockets];
static volatile sig_atomic_t crash_socket_count;
static volatile sig_atomic_t is_crashing;
static pid_t crash_process;

static void shut_and_handle(int number, siginfo_t *info, void *context) {
    /* A child that a function has forked shares the sockets, but isn't the process that they belong to. */
    if (getpid() == crash_process) {
        is_crashing = 1;
        for (int i = 0; i < crash_socket_count; i++) shutdown(crash_sockets[i], SHUT_WR);
    }
    for (int i = 0; i < crash_signal_count; i++) {
        if (crash_signals[i] != number) continue;
        if (crash_handlers[i].sa_flags & SA_SIGINFO) {
            crash_handlers[i].sa_sigaction(number, info, context);
        } else {
            crash_handlers[i].sa_handler(number);
        }
    }
}

void functions_shut_on_crash(const int *sockets, int count) {
    if (count > max_crash_sockets) count = max_crash_sockets;
    for (int i = 0; i < count; i++) crash_sockets[i] = sockets[i];
    crash_socket_count = count;
    crash_process = getpid();
    for (int i = 0; i < crash_signal_count; i++) {
        /* Without a handler the process ends at once, and its sockets with it. */
        if (sigaction(crash_signals[i], NULL, &crash_handlers[i]) != 0) continue;
        if (!(crash_handlers[i].sa_flags & SA_SIGINFO) &&
            (crash_handlers[i].sa_handler == SIG_DFL || crash_handlers[i].sa_handler == SIG_IGN))
            continue;
        struct sigaction action = crash_handlers[i];
        action.sa_flags |= SA_SIGINFO;
        action.sa_sigaction = shut_and_handle;
        sigaction(crash_signals[i], &action, NULL);
    }
}

int functions_is_crashing(void) { return is_crashing; }

#if defined(__linux__)
#include <fcntl.h>
#include <sys/wait.h>

static void end_group(int number) {
    (void)number;
    functions_kill_own_group();
}

int functions_die_with_parent(void) {
    /* A signal that nothing else uses, and that started programs get with its default action, termination. */
    int number = SIGRTMAX;
    struct sigaction action = {.sa_handler = end_group};
    sigfillset(&action.sa_mask);
    if (sigaction(number, &action, NULL) != 0) number = SIGKILL;
    return prctl(PR_SET_PDEATHSIG, number, 0, 0, 0);
}

int functions_limit_process(int pid, functions_limit limit, unsigned long long most) {
    int resource = limit == FUNCTIONS_LIMIT_OPEN_FILES ? RLIMIT_NOFILE : RLIMIT_DATA;
    struct rlimit now;
    if (prlimit(pid, resource, NULL, &now) != 0) return -1;
    if (now.rlim_max < most) most = now.rlim_max;
    struct rlimit bound = {.rlim_cur = most, .rlim_max = most};
    return prlimit(pid, resource, &bound, NULL);
}

int functions_adopt_orphans(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

int functions_ended_child(void) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid : 0;
}

int functions_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int functions_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
#endif
