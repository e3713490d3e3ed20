import LinuxSystem

/// `WATCHD_INSTANCE`: by it a later watchd finds the processes of this one again, and believes what they say of
/// themselves. A process that runs as another user (`User=`) is told a name that is good for processes of that user
/// alone: nothing follows from it about the names of others.
package struct InstanceName: Equatable, Sendable {
    /// Of processes of watchd's own user; empty: they need not be found again.
    package let own: String
    package let folder: String
    private let key: [UInt8]

    /// - Parameters:
    ///   - folder: of the state.
    ///   - secret: bytes that nobody else knows.
    package init(folder: String, secret: [UInt8]) {
        self.folder = folder
        key = secret
        own = "\(folder):\(Self.hexadecimal(secret))"
    }

    /// Nothing needs to be found again.
    package static let none = InstanceName()

    private init() { (own, folder, key) = ("", "", []) }

    package func of(user: UInt32) -> String {
        if user == Linux.effectiveUserID || own.isEmpty { return own }
        let halves = ["1", "2"].map { SipHash.hash(Array("\($0) user \(user)".utf8), key: key) }
        let bytes = halves.flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> ($0 * 8)) } }
        return "\(folder):\(Self.hexadecimal(bytes))"
    }

    package static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }, as: UTF8.self)
    }
}
