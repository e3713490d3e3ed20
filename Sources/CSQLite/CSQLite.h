#include <sqlite3.h>

/* What Swift cannot say: functions with a variable number of arguments, and macros that are casts. */

/* SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE: whether closing the last connection leaves the write-ahead log as it is. */
static inline int csqlite_keep_log(sqlite3 *db, int on) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on, (int *)0);
}

/* With copies (SQLITE_TRANSIENT): the caller's memory is free again when they return. */
static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, text ? text : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return count == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                      : sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

enum {
    CSQLITE_READONLY_DBMOVED = SQLITE_READONLY_DBMOVED,
    CSQLITE_IOERR_SHORT_READ = SQLITE_IOERR_SHORT_READ,
};
