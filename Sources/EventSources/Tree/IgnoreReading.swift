import LinuxSystem
import WatchFile

/// The ignore file of a folder, as it was read.
enum IgnoreReading: Sendable {
    /// The folder has none.
    case missing
    /// With its last change (nanoseconds since the epoch).
    case file(IgnoreFile, changed: Int64)
    /// It is not applied: why.
    case failed(String)

    /// - Parameter folder: an open folder.
    init(_ name: [UInt8], in folder: Int32) {
        do throws(SystemError) {
            // Nothing but a plain file is opened: that of a device may do anything.
            let kind = try Linux.status(of: name, in: folder).kind
            guard kind == .regular else {
                self = .failed(Self.refusal(of: kind))
                return
            }
            self = try Linux.openFile(name, in: folder).use { file throws(SystemError) in try Self.read(file) }
        } catch {
            self = error.isOfNothing ? .missing : .failed("\(error.errno)")
        }
    }

    private static func read(_ file: Int32) throws(SystemError) -> IgnoreReading {
        let status = try Linux.fstat(file)
        guard status.kind == .regular else { return .failed(refusal(of: status.kind)) }
        let bytes = try Linux.readPrefix(file, atMost: IgnoreFile.maximumLength + 1)
        do throws(IgnoreFile.Failure) {
            return .file(try IgnoreFile(bytes), changed: status.changed)
        } catch {
            switch error {
            case .tooLong: return .failed("it has more than \(IgnoreFile.maximumLength) bytes")
            case .tooManyPatterns: return .failed("it has more than \(IgnoreFile.maximumPatterns) patterns")
            }
        }
    }

    private static func refusal(of kind: FileStatus.Kind) -> String {
        kind == .symbolicLink
            ? "it is a symbolic link, which git does not follow either" : "it is \(kind.phrase), and not a file"
    }

    var file: IgnoreFile? { if case .file(let file, _) = self { file } else { nil } }
    var failure: String? { if case .failed(let reason) = self { reason } else { nil } }
}

extension [UInt8] {
    /// An absolute path, as it is below a folder above it or itself.
    func below(_ folder: [UInt8]) -> [UInt8] {
        count <= folder.count ? [] : Array(self[(folder.count + (folder.last == UInt8(ascii: "/") ? 0 : 1))...])
    }
}
