/// A value that is written as JSON by itself, without an encoder.
package protocol JSONWritable {
    func write(to writer: inout JSONWriter)
    /// JSON can say it; what it cannot say is written as `null`.
    var isInJSON: Bool { get }
}

extension JSONWritable {
    package var isInJSON: Bool { true }
}

extension String: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension Bool: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension Array: JSONWritable where Element: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.write(array: self) { $1.write(to: &$0) } }
    package var isInJSON: Bool { allSatisfy(\.isInJSON) }
}

extension JSONValue: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.writeNull()
        case .bool(let bool): writer.write(bool)
        case .int(let int): writer.write(int)
        case .double(let double): writer.write(double)
        case .string(let string): writer.write(string)
        case .array(let elements): elements.write(to: &writer)
        case .object(let members):
            var object = writer.beginObject()
            for (name, value) in members {
                writer.beginMember(name, of: &object)
                value.write(to: &writer)
            }
            writer.end(object)
        }
    }
}

extension JSONWritable where Self: BinaryInteger {
    package func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension JSONWritable where Self: BinaryFloatingPoint & LosslessStringConvertible {
    package func write(to writer: inout JSONWriter) { writer.write(self) }
    package var isInJSON: Bool { isFinite }
}

extension Double: JSONWritable {}
extension Float: JSONWritable {}
extension Int: JSONWritable {}
extension Int128: JSONWritable {}
extension Int64: JSONWritable {}
extension Int32: JSONWritable {}
extension Int16: JSONWritable {}
extension Int8: JSONWritable {}
extension UInt: JSONWritable {}
extension UInt128: JSONWritable {}
extension UInt64: JSONWritable {}
extension UInt32: JSONWritable {}
extension UInt16: JSONWritable {}
extension UInt8: JSONWritable {}
