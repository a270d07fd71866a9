#ifndef FUNCTIONS_SQLITE_LOG_H
#define FUNCTIONS_SQLITE_LOG_H

#include <sqlite3.h>

/* Makes a connection write the frames of a transaction to the write-ahead log in large pieces, at the latest when it syncs
   the log. SQLite writes each page and each page's header by a call of the system's, which costs about as much as the page.

   The connection must have opened the log and must use `synchronous = FULL`: SQLite then syncs the log before other
   connections may read a transaction's frames in it.

   Returns an SQLite result code. On failure the log is written as before. */
int functions_gather_log_writes(sqlite3 *connection);

/* The same for a file, until it is closed. */
int functions_gather_writes(sqlite3_file *file);

#endif
