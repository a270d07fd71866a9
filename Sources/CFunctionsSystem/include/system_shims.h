#ifndef FUNCTIONS_SYSTEM_SHIMS_H
#define FUNCTIONS_SYSTEM_SHIMS_H

/* Calls of the system that Swift can't make itself: they take a variable number of arguments, their headers show them
   only to programs that ask for GNU's extensions, or several of Swift's modules define their types. */

/* A file's mode and owner. Returns 0, or -1 with errno. */
int functions_file_status(const char *path, unsigned int *mode, unsigned int *owner);

/* Has standard output written with every line, as to a terminal; a pipe would get it in blocks of some KiB, much later
   or, where the process is killed, never. */
void functions_write_output_by_line(void);

/* Has crashes of this process, and of those it starts, leave no core dump. On Linux no other process of this user can read
   this one's memory and environment from then on. */
void functions_forbid_core_dumps(void);

/* The size of what a path names, which of /proc/PID/fd is the number of open descriptors. Returns -1 with errno where
   there is nothing. */
long long functions_file_size(const char *path);

#if defined(__linux__)
#include <spawn.h>

/* What the kernel holds a process to. */
typedef enum {
    FUNCTIONS_LIMIT_OPEN_FILES, /* open descriptors */
    FUNCTIONS_LIMIT_DATA,       /* bytes of memory that is its own and that it may write, whether used or not */
} functions_limit;

/* Lowers a limit of another process of this user, for good; a limit that is lower already stays. Returns 0, or -1 with
   errno. */
int functions_limit_process(int pid, functions_limit limit, unsigned long long most);

/* Has the kernel end this process, and with it the process group that it leads, when the thread that started it ends.
   Returns 0 where it will. */
int functions_die_with_parent(void);

/* Makes this process the parent of what its descendants leave behind, as process 1 is of everybody's. Returns 0 where it
   is. */
int functions_adopt_orphans(void);

/* A child of this process that has ended and isn't reaped; 0 where there is none. */
int functions_ended_child(void);

/* A pipe whose both ends are closed on exec. Returns 0, or -1 with errno. */
int functions_pipe(int ends[2]);

/* Has the started process close every descriptor from `first` on. Returns 0 or an error number. */
int functions_spawn_close_from(posix_spawn_file_actions_t *actions, int first);
#endif

#endif
