import CSQLite

/// A prepared statement. Parameters count from 1, columns from 0; what is bound stays until it is bound anew or
/// `reset`.
final class Statement {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }
    deinit { sqlite3_finalize(handle) }

    func step() -> Int32 { sqlite3_step(handle) }

    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    // MARK: Parameters

    func bind(_ index: Int32, _ value: Int64?) {
        if let value { sqlite3_bind_int64(handle, index, value) } else { sqlite3_bind_null(handle, index) }
    }

    func bind(_ index: Int32, _ value: Int?) { bind(index, value.map { Int64($0) }) }
    func bind(_ index: Int32, _ value: Int32?) { bind(index, value.map { Int64($0) }) }
    func bind(_ index: Int32, _ value: UInt64?) { bind(index, value.map { Int64(bitPattern: $0) }) }

    func bind(_ index: Int32, _ text: String?) {
        guard var text else { return bind(index, Int64?.none) }
        _ = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                csqlite_bind_text(handle, index, $0.baseAddress, UInt64($0.count))
            }
        }
    }

    func bind(_ index: Int32, _ bytes: [UInt8]?) {
        guard let bytes else { return bind(index, Int64?.none) }
        _ = bytes.withUnsafeBytes { csqlite_bind_blob(handle, index, $0.baseAddress, UInt64($0.count)) }
    }

    // MARK: Columns

    func number(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    func id(_ column: Int32) -> UInt64 { UInt64(bitPattern: number(column)) }

    func optional(_ column: Int32) -> Int64? { isNull(column) ? nil : number(column) }

    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Empty where it is NULL.
    func bytes(_ column: Int32) -> [UInt8] {
        let start = sqlite3_column_blob(handle, column)
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    // MARK: Values of any type

    var columnCount: Int32 { sqlite3_column_count(handle) }

    /// Binds what another statement has in a column.
    func bind(_ index: Int32, _ other: Statement, column: Int32) {
        sqlite3_bind_value(handle, index, sqlite3_column_value(other.handle, column))
    }
}
