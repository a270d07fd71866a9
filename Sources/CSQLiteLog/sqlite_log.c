#include "sqlite_log.h"

#include <string.h>

/* SQLite's files write less than 128 KiB at a time. */
#define CAPACITY (127 * 1024)

/* What SQLite calls for the log's file in place of the operating system's methods. SQLite hands on the file, through
   which this is found: so the methods come first. */
typedef struct GatheredLog {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *real;
    /* Where the gathered bytes belong in the file, and how many there are. */
    sqlite3_int64 start;
    int length;
    unsigned char bytes[CAPACITY];
} GatheredLog;

static GatheredLog *gathered(sqlite3_file *file) { return (GatheredLog *)file->pMethods; }

/* If it fails, the transaction is rolled back, and the next one is written at the same place. The bytes that are dropped
   may be spilled pages, which SQLite takes for written: so SQLiteEngine.write rolls back for any error, and its body
   writes nothing to SQLite before its end.
   Frames that SQLite adds after a sync, to fill a sector, would stay in the buffer. It adds none to files with
   SQLITE_IOCAP_POWERSAFE_OVERWRITE, which is its default. */
static int flush(sqlite3_file *file) {
    GatheredLog *log = gathered(file);
    int length = log->length;
    log->length = 0;
    return length == 0 ? SQLITE_OK : log->real->xWrite(file, log->bytes, length, log->start);
}

static int write_log(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset) {
    GatheredLog *log = gathered(file);
    if (offset != log->start + log->length || length > CAPACITY - log->length) {
        int result = flush(file);
        if (result != SQLITE_OK) return result;
        if (length > CAPACITY) return log->real->xWrite(file, bytes, length, offset);
        log->start = offset;
    }
    memcpy(log->bytes + log->length, bytes, (size_t)length);
    log->length += length;
    return SQLITE_OK;
}

static int read_log(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset) {
    GatheredLog *log = gathered(file);
    /* Pages of a transaction that is larger than the cache. */
    if (offset < log->start + log->length && log->start < offset + length) {
        int result = flush(file);
        if (result != SQLITE_OK) return result;
    }
    return log->real->xRead(file, bytes, length, offset);
}

static int sync_log(sqlite3_file *file, int flags) {
    int result = flush(file);
    return result == SQLITE_OK ? gathered(file)->real->xSync(file, flags) : result;
}

static int truncate_log(sqlite3_file *file, sqlite3_int64 size) {
    int result = flush(file);
    return result == SQLITE_OK ? gathered(file)->real->xTruncate(file, size) : result;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size) {
    int result = flush(file);
    return result == SQLITE_OK ? gathered(file)->real->xFileSize(file, size) : result;
}

static int close_log(sqlite3_file *file) {
    GatheredLog *log = gathered(file);
    int flushed = flush(file);
    file->pMethods = log->real;
    int closed = log->real->xClose(file);
    sqlite3_free(log);
    return flushed == SQLITE_OK ? closed : flushed;
}

int functions_gather_writes(sqlite3_file *file) {
    GatheredLog *log = sqlite3_malloc(sizeof(GatheredLog));
    if (log == NULL) return SQLITE_NOMEM;
    /* Those that are new in later versions concern a database's main file only. */
    log->methods = *file->pMethods;
    log->methods.iVersion = 1;
    log->methods.xClose = close_log;
    log->methods.xRead = read_log;
    log->methods.xWrite = write_log;
    log->methods.xTruncate = truncate_log;
    log->methods.xSync = sync_log;
    log->methods.xFileSize = log_size;
    log->real = file->pMethods;
    log->start = 0;
    log->length = 0;
    file->pMethods = &log->methods;
    return SQLITE_OK;
}

int functions_gather_log_writes(sqlite3 *connection) {
    sqlite3_file *file = NULL;
    int result = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (result != SQLITE_OK) return result;
    return file == NULL || file->pMethods == NULL ? SQLITE_MISUSE : functions_gather_writes(file);
}
