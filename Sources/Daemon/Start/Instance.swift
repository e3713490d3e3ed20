import EventSources
import LinuxSystem
import Store

/// Which watchd it is: what its processes have as `WATCHD_INSTANCE`, by which a later one finds those that were left
/// running.
///
/// A part of it is a secret. A process's word about itself would otherwise be believed of anybody who starts a program
/// that is set-user-ID: such a one is root's, and has the environment that its starter gave it.
struct Instance {
    /// Bytes of the secret.
    private static let size = 16

    private let folder: [UInt8]
    private let secret: String
    /// Also of processes of other users. Made once: each run asks for it.
    let names: InstanceName

    /// With the secret of the state folder; where there is none yet, with a new one, which is put there. While nothing
    /// can be read or written there it is good for this life only, and what is started with it is not found again.
    init(folder: [UInt8]) {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<Self.size).map { _ in random.next() as UInt8 }
        self.init(folder, InstanceName.hexadecimal(bytes))
    }

    private init(_ folder: [UInt8], _ new: String) {
        self.folder = folder
        secret = Self.kept(folder, else: new) ?? new
        names = InstanceName(folder: String(decoding: folder, as: UTF8.self), secret: Self.bytes(of: secret))
    }

    /// The instance in the folder, which perhaps could not be used before.
    func kept() -> Instance { Instance(folder, secret) }

    /// `/var/lib/watchd:0123456789abcdef0123456789abcdef`.
    var name: String { names.own }

    private static func bytes(of secret: String) -> [UInt8] {
        let digits = Array(secret)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
    }

    // MARK: The file

    /// The secret in the folder, or the new one, when it is there from now on; `nil`: neither.
    private static func kept(_ folder: [UInt8], else new: String) -> String? {
        let file = folder + Store.instanceName.utf8
        do throws(SystemError) {
            if let secret = try read(file) { return secret }
            return try write(new, file)
        } catch {
            return nil
        }
    }

    /// `nil`: there is none, or none that only we can have written and read.
    private static func read(_ file: [UInt8]) throws(SystemError) -> String? {
        guard (try? Linux.lstat(file))?.kind == .regular else { return nil }
        return try Linux.open(file, [.reading, .noFollow, .nonBlocking]).use { descriptor throws(SystemError) in
            let status = try Linux.fstat(descriptor)
            guard status.userID == Linux.effectiveUserID, status.permissions & 0o077 == 0 else { return nil }
            let text = try Linux.read(descriptor, atMost: 2 * size + 1)
            let digits = text.prefix { hexadecimalDigits.contains($0) }
            return digits.count == 2 * size ? String(decoding: digits, as: UTF8.self) : nil
        }
    }

    /// In one step, so that a process that has it in its environment is never without it in the file. After a loss of
    /// power, when it may be empty, there is no such process.
    private static func write(_ secret: String, _ file: [UInt8]) throws(SystemError) -> String {
        let draft = file + ".new".utf8
        try? Linux.unlink(draft)
        try Linux.open(draft, [.writing, .creating, .exclusive], mode: 0o600).use { descriptor throws(SystemError) in
            try Linux.writeAll(descriptor, "\(secret)\n".utf8)
        }
        try Linux.rename(draft, to: file)
        return secret
    }

    private static let hexadecimalDigits = Array("0123456789abcdef".utf8)
}
