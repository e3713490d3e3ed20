import CSQLite
import Glibc
import LinuxSystem

extension StoreError {
    /// The meaning of a result code of SQLite for the store; `handle` tells the sentence and the `errno` behind it.
    init(_ code: Int32, _ handle: OpaquePointer?, _ path: [UInt8]) {
        let detail = handle.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        let text = detail.map { String(cString: $0) } ?? "error \(code)"
        let errno = handle.map { Errno(sqlite3_system_errno($0)) } ?? Errno(0)
        // The low byte is the kind; the rest says more precisely what happened.
        switch code & 0xFF {
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .damaged(path: path, detail: text)
        // The rows do not fit the tables, or name a size that is larger than any value can be.
        case SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_TOOBIG: self = .damaged(path: path, detail: text)
        case SQLITE_FULL: self = .full(path: path)
        case SQLITE_READONLY where code != CSQLITE_READONLY_DBMOVED: self = .readOnly(path: path)
        case SQLITE_READONLY: self = .gone(path: path)
        case SQLITE_IOERR where code == CSQLITE_IOERR_SHORT_READ: self = .damaged(path: path, detail: text)
        case SQLITE_IOERR, SQLITE_CANTOPEN: self = .init(errno, path, detail: text)
        default: self = .unavailable(path: path, detail: text)
        }
    }

    init(_ error: SystemError, _ path: [UInt8]) {
        self.init(error.errno, path, detail: "\(error)")
    }

    private init(_ errno: Errno, _ path: [UInt8], detail: String) {
        switch errno.code {
        case ENOSPC, EDQUOT, EFBIG: self = .full(path: path)
        case EROFS, EACCES, EPERM: self = .readOnly(path: path)
        case ENOENT: self = .gone(path: path)
        case 0: self = .unavailable(path: path, detail: detail)
        default: self = .unavailable(path: path, detail: "\(detail) (\(errno))")
        }
    }
}
