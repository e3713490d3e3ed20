import ControlInterface
import LinuxSystem
import Synchronization
import Systemd
import WatchFile

/// The control socket: made here, or passed by systemd under the name `varlink`.
///
/// As a service, watchd gives a copy to the service manager: clients that come during a restart wait in its queue for
/// the next watchd. The manager drops the copy at a stop, so that nobody can start a watchd that was stopped.
final class ControlListener: Sendable {
    /// Of one that a socket unit has made, as the control interface names it.
    static let passedName = "varlink"
    /// Of one that an earlier watchd has made.
    static let keptName = "control"

    /// Why there is none.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    let path: [UInt8]
    /// The service manager keeps a copy over restarts, and removes the file's folder at a stop.
    let isKept: Bool
    private let isDefault: Bool
    /// `file`: of a socket that was made here.
    private let socket: Mutex<(descriptor: Int32, file: SocketFile?)>

    /// `$RUNTIME_DIRECTORY` where systemd has made that for the service, whoever it runs as.
    static var defaultPath: [UInt8] {
        if let folder = serviceFolder { return folder + Array("/\(Manager.name)".utf8) }
        let runtime = Linux.environment("XDG_RUNTIME_DIR").map { String(decoding: $0, as: UTF8.self) }
        let environment = runtime.map { ["XDG_RUNTIME_DIR": $0] } ?? [:]
        let path = ControlSocketPath.default(uid: Linux.effectiveUserID, environment: environment) { path in
            (try? Linux.stat(path)) != nil
        }
        return Array(path.own.utf8)
    }

    /// Of `RuntimeDirectory=watchd`; one of another name is not where clients look.
    private static var serviceFolder: [UInt8]? {
        guard let folder = Linux.environment("RUNTIME_DIRECTORY"), folder.suffix(7).elementsEqual("/watchd".utf8)
        else { return nil }
        return folder
    }

    init(settings: DaemonSettings, passed: [PassedDescriptor]) throws {
        let path = settings.controlSocket ?? Self.defaultPath
        let listening = passed.filter { Self.isOwn($0.name) && Linux.isListeningUnixStream($0.rawValue) }
        let named =
            listening.first { $0.name == Self.passedName } ?? listening.first { Self.stands($0.rawValue, at: path) }
        // Descriptors of other names are for sources.
        for other in passed where Self.isOwn(other.name) && other.rawValue != named?.rawValue {
            FileDescriptor(owning: other.rawValue).close()
        }
        let isService = Self.serviceFolder != nil && Linux.environment("NOTIFY_SOCKET") != nil
        self.path = path
        isDefault = settings.controlSocket == nil
        isKept = isService && settings.controlSocket == nil && named?.name != Self.passedName
        if let named {
            try Linux.setNonBlocking(named.rawValue)
            // Clients are told who listens: from now on this process (`unix(7)`, SO_PEERCRED).
            if isKept { try Linux.listen(named.rawValue) }
            socket = Mutex((named.rawValue, nil))
        } else {
            socket = Mutex(try Self.make(path, isDefault: isDefault))
        }
    }

    var descriptor: Int32 { socket.withLock { $0.descriptor } }

    /// Its file is watchd's to make; that of a socket unit is not.
    var isOwn: Bool { isKept || socket.withLock { $0.file != nil } }

    /// Makes another socket, as the file of this one is gone.
    ///
    /// - Returns: the former one, which the caller closes.
    func remake() throws -> Int32 {
        let made = try Self.make(path, isDefault: isDefault)
        return socket.withLock { socket in
            defer { socket = made }
            return socket.descriptor
        }
    }

    static func isOwn(_ name: String) -> Bool { [passedName, keptName].contains(name) }

    /// Clients that look for the path reach it.
    private static func stands(_ socket: Int32, at path: [UInt8]) -> Bool {
        (try? Linux.localEndpoint(socket)) == .unix(path) && (try? Linux.lstat(path))?.kind == .socket
    }

    /// At the end; a socket that was passed or is kept stays, and so does what somebody else has put there meanwhile.
    func removeSocketFile() { if !isKept { socket.withLock { $0.file?.remove() } } }

    private static func make(_ path: [UInt8], isDefault: Bool) throws -> (Int32, SocketFile) {
        if isDefault { try makeFolder(Array(path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)])) }
        try removeStale(path)
        let socket = try Linux.socket(for: .unix(path), .stream)
        do {
            // The rights of each call are decided by the peer's credentials.
            let file = try SocketFile.bind(socket.rawValue, to: path) { place throws(SystemError) in
                try Linux.fchmod(place, 0o666)
            }
            try Linux.listen(socket.rawValue)
            return (socket.release(), file)
        } catch {
            socket.close()
            throw error
        }
    }

    /// The default place may not be there yet. One that is there must be a folder (no link to one) that belongs to this
    /// user, and that nobody else may write: in it another could put a socket in the place of this one.
    static func makeFolder(_ folder: [UInt8]) throws {
        let mode: UInt32 = Linux.effectiveUserID == 0 ? 0o755 : 0o700
        let made = Swift.Result { () throws(SystemError) in try Linux.mkdir(folder, mode: mode) }
        guard case .failure(let error) = made else { return }
        guard error.errno == .fileExists else { throw error }
        let status = try Linux.lstat(folder)
        let isShared = status.permissions & 0o022 != 0
        let fault: String? =
            if status.kind != .folder {
                "is \(status.kind.phrase), where a folder for the control socket should be"
            } else if status.userID != Linux.effectiveUserID {
                "belongs to somebody else (user \(status.userID))"
            } else {
                isShared ? "may be written by others (mode \(String(status.permissions, radix: 8)))" : nil
            }
        guard let fault else { return }
        throw Failure(description: "\(folder.printable) \(fault); mend that, or set ControlSocket= in [Watchd]")
    }

    /// A socket file of a daemon that is dead is replaced; that of a living one is refused.
    private static func removeStale(_ path: [UInt8]) throws {
        guard let status = try? Linux.lstat(path) else { return }
        guard status.kind == .socket else {
            throw Failure(description: "\(path.printable) is there and is no socket")
        }
        guard [0, Linux.effectiveUserID].contains(status.userID) else {
            throw Failure(
                description: "\(path.printable) belongs to user \(status.userID); remove it, or set ControlSocket=")
        }
        let holder = try Linux.livingHolder { try answering(path) }
        if let holder {
            let process = holder == 0 ? "" : " (process \(holder))"
            throw Failure(
                description: "another watchd answers on \(path.printable)\(process); stop it, or set ControlSocket=")
        }
        try Linux.unlink(path)
    }

    /// The process that listens there; 0: nobody can know which, `nil`: none.
    private static func answering(_ path: [UInt8]) throws -> Int32? {
        try Linux.socket(for: .unix(path), .stream).use { probe in
            do {
                try Linux.connect(probe, .unix(path))
                return try Linux.peerCredentials(probe).processID
            } catch let error as SystemError where error.errno == .connectionRefused {
                return nil
            } catch let error as SystemError where error.errno == .wouldBlock {
                return 0
            }
        }
    }
}
