import Glibc

/// The place of a process among the others, from `/proc/PID/stat`.
package struct ProcessPlace: Hashable, Sendable {
    /// 0 for the first process of a namespace.
    package var parentID: Int32
    /// In an uninterruptible sleep: what reads its memory could sleep with it.
    package var isStuck: Bool
    /// It has ended, and its parent has not waited for it.
    package var isZombie: Bool
    package var groupID: Int32
    package var sessionID: Int32
    /// When it was started: boot-time microsecond, to the hundredth of a second.
    package var started: Int64
    /// How a zombie ended, as `wait(2)` encodes it. 0 also where the kernel does not tell: see `Linux.exit(ofZombie:_:)`.
    package var waitStatus: Int32?

    /// A line of `/proc/PID/stat` (`proc_pid_stat(5)`); `nil`: it is none.
    package init?(stat line: [UInt8]) {
        // The second field, the name, may hold spaces, parentheses and newlines.
        guard let end = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let separators = [UInt8(ascii: " "), UInt8(ascii: "\n")]
        let fields = line[(end + 1)...].split(whereSeparator: separators.contains)
        func number(_ field: Int) -> Int64? {
            fields.count > field - 3 ? Int64(String(decoding: fields[field - 3], as: UTF8.self)) : nil
        }
        guard let parent = number(4), let group = number(5), let session = number(6), let ticks = number(22)
        else { return nil }
        parentID = Int32(truncatingIfNeeded: parent)
        isStuck = fields[0].elementsEqual("D".utf8)
        isZombie = fields[0].elementsEqual("Z".utf8)
        groupID = Int32(truncatingIfNeeded: group)
        sessionID = Int32(truncatingIfNeeded: session)
        // USER_HZ is 100 on every architecture that Linux still runs on.
        started = ticks * 10_000
        waitStatus = number(52).map { Int32(truncatingIfNeeded: $0) }
    }
}

extension Linux {
    /// `getppid(2)`.
    package static var parentProcessID: Int32 { getppid() }

    /// Its place now, from `/proc/PID/stat`, which never waits for the process; `nil`: there is no such process.
    package static func place(of process: Int32) -> ProcessPlace? {
        (try? readFile("/proc/\(process)/stat", limit: 4096)).flatMap { ProcessPlace(stat: $0) }
    }

    /// How a process ended that its parent has not waited for. `nil`: it lives, or its parent has waited, or the kernel
    /// does not tell. It tells who may look at the process (PTRACE_MODE_READ_FSCREDS of `ptrace(2)`): root, and its own
    /// user, if it has no capability that the caller lacks.
    ///
    /// - Parameter pidfd: of the process.
    package static func exit(ofZombie process: Int32, _ pidfd: Int32) -> ExitStatus? {
        // Else a status of 0 means nothing. The same permission is asked for here; a zombie has no program any more.
        do throws(SystemError) {
            _ = try readlink("/proc/\(process)/exe")
            return nil
        } catch {
            guard error.errno == .noSuchFile else { return nil }
        }
        guard let place = place(of: process), place.isZombie else { return nil }
        do throws(SystemError) { try pidfdSendSignal(pidfd, 0) } catch {
            // Then the number may have been another's by now.
            if error.errno == .noSuchProcess { return nil }
        }
        return place.waitStatus.map { ExitStatus(waitStatus: $0) }
    }

    /// Whether the real, the effective, the saved and the file system's user of a process are all this one. False where
    /// there is no such process.
    package static func isEntirely(_ process: Int32, of user: UInt32) -> Bool { self.user(ofAll: process) == user }

    /// The user that the real, the effective, the saved and the file system's user of a process all are, from the
    /// `Uid:` line of `/proc/PID/status` (`proc_pid_status(5)`). The owner of `/proc/PID` says less: it is the
    /// effective user, or root where the process is not dumpable. `nil`: they are not one, or there is no such process.
    package static func user(ofAll process: Int32) -> UInt32? {
        guard let text = try? readFile("/proc/\(process)/status", limit: 65_536),
            let line = text.split(separator: UInt8(ascii: "\n")).first(where: { $0.starts(with: "Uid:\t".utf8) })
        else { return nil }
        let users = line.split(separator: UInt8(ascii: "\t")).dropFirst().map { String(decoding: $0, as: UTF8.self) }
        guard users.count == 4, Set(users).count == 1 else { return nil }
        return users.first.flatMap { UInt32($0) }
    }

    /// The number here of a process that another one names by a number of its own, which is another one where that has a
    /// PID namespace to itself (a container, `pid_namespaces(7)`). Of such a namespace only the process itself, its
    /// children and those above it are found; `nil`: it is none of them. Where the namespace may not be read, the number
    /// is taken as it is.
    package static func process(_ number: Int32, asNamedBy client: Int32) -> Int32? {
        let space = space(of: client)
        guard client <= 0 || space != nil && space != Self.space(of: processID) else { return number }
        var candidates = [client] + children(of: client)
        var place = place(of: client)
        while let parent = place?.parentID, parent > 1, candidates.count < 1024 {
            candidates.append(parent)
            place = Self.place(of: parent)
        }
        return candidates.first { self.space(of: $0) == space && innermostNumber(of: $0) == number }
    }

    /// Its PID namespace; `nil`: it has ended, or may not be looked at.
    private static func space(of process: Int32) -> [UInt8]? { try? readlink("/proc/\(process)/ns/pid") }

    private static func children(of process: Int32) -> [Int32] {
        let text = (try? readFile("/proc/\(process)/task/\(process)/children", limit: 1 << 14)) ?? []
        return text.split(separator: UInt8(ascii: " ")).compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
    }

    /// Its number in its own namespace: the last of the line `NSpid:` of `/proc/PID/status`.
    private static func innermostNumber(of process: Int32) -> Int32? {
        let text = (try? readFile("/proc/\(process)/status", limit: 65_536)) ?? []
        let line = text.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "NSpid:".utf8) }
        let number = line?.split(separator: UInt8(ascii: "\t")).last
        return number.flatMap { Int32(String(decoding: $0, as: UTF8.self)) }
    }

    /// Bytes of an environment that are looked at: more than the 6 MiB that the kernel gives a new program for it and
    /// its arguments together (`execve(2)`).
    private static let largestEnvironment = 8 << 20

    /// The variables of the environment with which a process was started whose names begin so, `NAME=VALUE` each, from
    /// `/proc/PID/environ`. Only those are kept in memory. Empty also where it may not be looked at; `nil`: it has no
    /// environment at all, as for a moment one that is becoming another program.
    package static func environment(of process: Int32, prefix: String) -> [[UInt8]]? {
        guard let file = try? open("/proc/\(process)/environ") else { return [] }
        return file.use { number in
            var strings = PrefixedStrings(prefix)
            var size = 0
            while size < largestEnvironment, let part = try? read(number, atMost: 1 << 16), !part.isEmpty {
                size += part.count
                part.withUnsafeBytes { strings.push($0) }
            }
            return size == 0 ? nil : strings.found
        }
    }

    /// A variable of the environment with which a process was started, from `/proc/PID/environ`; `nil`: it has none, or
    /// may not be looked at.
    package static func environment(_ name: String, of process: Int32) -> [UInt8]? {
        environment(of: process, prefix: "\(name)=")?.first.map { Array($0.dropFirst(name.utf8.count + 1)) }
    }

    /// `execvp(3)`: becomes another program, looked up in `PATH`; returns only with the error.
    ///
    /// - Parameter words: the program and its arguments, without NULs.
    package static func execute(_ words: [String]) -> SystemError {
        guard let program = words.first else { return SystemError(call: "execvp", errno: .invalidArgument) }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        execvp(program, arguments)
        return SystemError(call: "execvp", detail: program, errno: Errno(errno))
    }
}

/// Those of a stream of strings, each ended by a NUL, that begin so. The bytes behind the last NUL are cut off, or
/// nothing.
private struct PrefixedStrings {
    private let prefix: [UInt8]
    private(set) var found: [[UInt8]] = []
    /// Of a string that began in an earlier part, while it may be one of them.
    private var rest: [UInt8] = []
    private var isOther = false

    init(_ prefix: String) { self.prefix = Array(prefix.utf8) }

    mutating func push(_ bytes: UnsafeRawBufferPointer) {
        var start = 0
        while start < bytes.count {
            let end = bytes.first(0, from: start)
            take(UnsafeRawBufferPointer(rebasing: bytes[start..<(end ?? bytes.count)]), isWhole: end != nil)
            start = (end ?? bytes.count) + 1
        }
    }

    private mutating func take(_ part: UnsafeRawBufferPointer, isWhole: Bool) {
        defer { if isWhole { (rest, isOther) = ([], false) } }
        if isOther { return }
        // Mostly it is decided by the first bytes.
        let beginning = rest + part.prefix(max(0, prefix.count - rest.count))
        guard beginning.starts(with: prefix.prefix(beginning.count)) else {
            isOther = true
            return
        }
        rest += part
        if isWhole, rest.count >= prefix.count { found.append(rest) }
    }
}
