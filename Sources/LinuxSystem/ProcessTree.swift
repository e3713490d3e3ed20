import Glibc

/// What `/proc/PID/stat` tells of a process's place among the others.
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

    /// Whether the real, the effective, the saved and the file system's user of a process are all this one, from the
    /// `Uid:` line of `/proc/PID/status` (`proc_pid_status(5)`). Who owns `/proc/PID` says less: it is the effective
    /// user, or root where the process is not dumpable. False where there is no such process.
    package static func isEntirely(_ process: Int32, of user: UInt32) -> Bool {
        guard let text = try? readFile("/proc/\(process)/status", limit: 65_536),
            let line = text.split(separator: UInt8(ascii: "\n")).first(where: { $0.starts(with: "Uid:\t".utf8) })
        else { return false }
        let users = line.split(separator: UInt8(ascii: "\t")).dropFirst()
        return users.count == 4 && users.allSatisfy { $0.elementsEqual("\(user)".utf8) }
    }

    /// The environment with which a process was started, `NAME=VALUE` each, from `/proc/PID/environ`; at most its first
    /// `limit` bytes. Empty where it may not be looked at.
    package static func environment(of process: Int32, limit: Int) -> [[UInt8]] {
        guard let file = try? open("/proc/\(process)/environ") else { return [] }
        let bytes = file.use { number in
            var bytes: [UInt8] = []
            while bytes.count < limit, let part = try? read(number, atMost: limit - bytes.count), !part.isEmpty {
                bytes += part
            }
            return bytes
        }
        var strings = bytes.split(separator: 0, omittingEmptySubsequences: false)
        // What is behind the last NUL is cut off, or nothing.
        if !strings.isEmpty { strings.removeLast() }
        return strings.map(Array.init)
    }

    /// A variable of the environment with which a process was started, from `/proc/PID/environ`; `nil`: it has none, or
    /// may not be looked at. More than 256 KiB of environment are not read.
    package static func environment(_ name: String, of process: Int32) -> [UInt8]? {
        guard let text = try? readFile("/proc/\(process)/environ", limit: 256 << 10) else { return nil }
        let prefix = Array("\(name)=".utf8)
        return text.split(separator: 0).first { $0.starts(with: prefix) }.map { Array($0.dropFirst(prefix.count)) }
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
