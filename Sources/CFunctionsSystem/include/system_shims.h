#ifndef FUNCTIONS_SYSTEM_SHIMS_H
#define FUNCTIONS_SYSTEM_SHIMS_H

#include <stddef.h>

/* System calls that Swift can't call directly: variadic functions, functions that headers declare only with GNU extensions,
   and functions whose types are defined by several Swift modules. */

/* Gets a file's mode and owner. Returns 0, or -1 with errno. */
int functions_file_status(const char *path, unsigned int *mode, unsigned int *owner);

/* What changes with the file that a path leads to: its device, number and mode, its size, and its time of modification in
   seconds and nanoseconds. Returns 0, or -1 with errno. */
int functions_file_stamp(const char *path, long long stamp[6]);

/* If this process is root's, gives an open file or directory to the owner of a directory. Returns 0, or -1 with errno. */
int functions_give_to_owner(int descriptor, const char *directory);

/* The same for a path. It needn't be opened: closing it would end the locks that this process has on the file. A
   symbolic link is given itself. */
int functions_give_path_to_owner(const char *path, const char *directory);

/* Flushes standard output after every line, as on a terminal. By default output to a pipe is flushed in blocks of some KiB:
   late, or never if the process is killed. */
void functions_write_output_by_line(void);

/* Disables core dumps of this process and of the processes it starts. On Linux, other processes of this user can no longer
   read this process's memory and environment. */
void functions_forbid_core_dumps(void);

/* Lets the allocator return what is freed to the system sooner: large blocks at once, and the end of the heap. By default it
   keeps some hundred MiB after a burst of large ones. Does nothing without glibc. */
void functions_return_freed_memory(void);

/* Returns free memory from within the heap to the system, if the process holds at least so many bytes beyond what is
   allocated and what trimming could not return before. For one thread at a time. Does nothing without glibc. */
void functions_trim_freed_memory(size_t least);

/* Takes the pages of the program and its libraries that can't be written out of the resident memory of the process. Those that
   are needed come back, from the system's cache. Pages that were changed stay. Does nothing on systems other than Linux. */
void functions_release_program_pages(void);

/* Makes the threads of this process, and the processes that it starts, take turns of 0.1 ms where more of them want to run
   than there are processors, instead of some ms: a short request then waits less for long ones. Call before there are many
   threads. Does nothing before Linux 6.12 and on other
   systems. */
void functions_run_in_short_turns(void);

/* Marks this thread as one that does long work, or does so no longer. Such a thread gives way every 0.1 ms or so: the kernel
   alone would let a short request that wants the same processor wait for some ms. */
void functions_begin_long_work(void);
void functions_end_long_work(void);

/* Lets the threads that wait for this thread's processor run first, if this thread does long work. */
void functions_give_way(void);

extern _Thread_local int functions_steps;

/* How many steps this thread makes until it gives way; 0 if it does no long work. */
static inline int functions_steps_left(void) { return functions_steps; }

/* Called for each of what may be many steps of some 100 ns. */
static inline void functions_step(void) {
    if (functions_steps > 1) functions_steps -= 1;
    else if (functions_steps == 1) functions_give_way();
}

/* Gets the size of a file; for /proc/PID/fd this is the number of open descriptors. Returns -1 with errno if it doesn't
   exist. */
long long functions_file_size(const char *path);

/* Makes two files or directories change names. Returns 0, or -1 with errno: not each file system can do that at once. */
int functions_exchange(const char *path, const char *other);

/* Whether this process ignores a signal, as it does if it was started to: by nohup, for example. */
int functions_ignores_signal(int number);

/* Starts a thread that runs a function and is never joined. Its name may be cut; a stack size of 0 is the system's. Returns 0 or
   an error number: then the function is never run. */
int functions_start_thread(const char *name, size_t stack_size, void (*body)(void *), void *context);

/* Kills this process, and with it the process group that it leads. Async-signal-safe. */
void functions_kill_own_group(void);

/* Makes this process stop writing to these sockets as soon as it crashes, before the crash is handled further: their other
   ends then know. At most 64. */
void functions_shut_on_crash(const int *sockets, int count);

/* Whether this process is crashing. */
int functions_is_crashing(void);

#if defined(__linux__)
#include <spawn.h>

/* A resource limit that the kernel enforces. */
typedef enum {
    FUNCTIONS_LIMIT_OPEN_FILES, /* open descriptors */
    FUNCTIONS_LIMIT_DATA,       /* bytes of private writable memory, used or not */
} functions_limit;

/* Permanently lowers a limit of another process of this user; a lower limit stays. Returns 0, or -1 with errno. */
int functions_limit_process(int pid, functions_limit limit, unsigned long long most);

/* Makes the kernel end this process, and the process group that it leads, when the thread that started it ends. Returns 0
   on success. */
int functions_die_with_parent(void);

/* Makes this process the parent of its orphaned descendants, as process 1 is for all processes. Returns 0 on success. */
int functions_adopt_orphans(void);

/* Returns a child of this process that has ended and isn't reaped; 0 if there is none. */
int functions_ended_child(void);

/* Creates a pipe whose ends are closed on exec. Returns 0, or -1 with errno. */
int functions_pipe(int ends[2]);

/* Makes the started process close all descriptors from `first` on. Returns 0 or an error number. */
int functions_spawn_close_from(posix_spawn_file_actions_t *actions, int first);
#endif

#endif
