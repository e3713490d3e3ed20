import CLinux
import Glibc

/// A cgroup of the unified hierarchy, by its folder (`cgroups(7)`). All of this asks the kernel only, but removing one and
/// moving processes may wait for others that do the same: not for `watchd.core`.
package struct ControlGroup: Hashable, Sendable {
    package let path: [UInt8]

    package init(path: [UInt8]) { self.path = path }

    /// That of this process; `nil`: no unified hierarchy is mounted, or the process is not within what is.
    package static var own: ControlGroup? {
        let lines = ((try? Linux.readFile("/proc/self/cgroup", limit: 1 << 16)) ?? []).split(separator: newline)
        guard let line = lines.first(where: { $0.starts(with: "0::/".utf8) }), !line.starts(with: "0::/..".utf8),
            let mount = mount
        else { return nil }
        let place = Array(line.dropFirst(3))
        return ControlGroup(path: place == [slash] ? mount : mount + place)
    }

    private static let slash = UInt8(ascii: "/")
    private static let newline = UInt8(ascii: "\n")

    /// Where the whole hierarchy is mounted.
    private static var mount: [UInt8]? {
        let text = (try? Linux.readFile("/proc/self/mountinfo", limit: 64 << 20)) ?? []
        for line in text.split(separator: newline) {
            let words = line.split(separator: UInt8(ascii: " "))
            guard let dash = words.firstIndex(where: { $0.elementsEqual("-".utf8) }), words.count > dash + 1,
                words[dash + 1].elementsEqual("cgroup2".utf8), words[3].elementsEqual("/".utf8)
            else { continue }
            return Array(words[4])
        }
        return nil
    }

    package var name: String {
        String(decoding: path.split(separator: Self.slash).last ?? [], as: UTF8.self)
    }

    package var parent: ControlGroup {
        ControlGroup(path: Array(path[..<(path.lastIndex(of: Self.slash) ?? path.startIndex)]))
    }

    package func child(_ name: String) -> ControlGroup { ControlGroup(path: path + [Self.slash] + Array(name.utf8)) }

    package func file(_ name: String) -> [UInt8] { path + [Self.slash] + Array(name.utf8) }

    /// The service manager has given it to its unit (`Delegate=yes`), and says so by an extended attribute, as the
    /// manager of the system does.
    package var isDelegated: Bool {
        var bytes = path + [0]
        return bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self) else { return false }
            return clinux_is_delegated(base) == 1
        }
    }

    /// That of a service which the service manager of a user has started, and so belongs to that user in any case.
    package var isOfUserManager: Bool {
        let names = path.split(separator: Self.slash).map { String(decoding: $0, as: UTF8.self) }
        return names.dropLast().contains { $0.hasPrefix("user@") && $0.hasSuffix(".service") }
    }

    /// `mkdir(2)`: true: it was not there before.
    package func make() throws(SystemError) -> Bool {
        do throws(SystemError) {
            try Linux.mkdir(path, mode: 0o755)
            return true
        } catch  where error.errno == .fileExists {
            return false
        }
    }

    /// `rmdir(2)`, with what a process of it has made below. EBUSY: a process lives there.
    package func remove() throws(SystemError) {
        do throws(SystemError) {
            try Linux.rmdir(path)
        } catch  where error.errno == .busy {
            let below = children
            if below.isEmpty { throw error }
            for child in below { try child.remove() }
            try Linux.rmdir(path)
        } catch  where error.errno == .noSuchFile {
            // Somebody else has done it.
        }
    }

    package var children: [ControlGroup] {
        ((try? Linux.readFolder(path)) ?? []).filter { $0.kind == .folder }
            .map { ControlGroup(path: path + [Self.slash] + $0.name) }
    }

    /// Its living processes, and those of what is below it.
    package var processes: [Int32] { ownProcesses + children.flatMap(\.processes) }

    /// Without those of what is below it.
    package var ownProcesses: [Int32] {
        let lines = ((try? Linux.readFile(file("cgroup.procs"), limit: 64 << 20)) ?? []).split(separator: Self.newline)
        return lines.compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
    }

    /// Moves a process there; 0 is this one.
    package func take(_ process: Int32) throws(SystemError) { try write("\(process)", to: "cgroup.procs") }

    package func write(_ text: String, to name: String) throws(SystemError) {
        try Linux.open(file(name), .writing).use { number throws(SystemError) in
            try Linux.writeAll(number, text.utf8)
        }
    }

    /// Sends SIGKILL to every process of it, also to those that are being forked (`cgroup.kill`, Linux 5.14).
    package func kill() {
        if (try? write("1", to: "cgroup.kill")) != nil { return }
        // A process may start another one meanwhile.
        for _ in 0..<10 {
            let found = processes
            if found.isEmpty { return }
            for process in found { try? Linux.kill(process: process, signal: SIGKILL) }
        }
    }

    /// Sends a signal to its processes, but to those of one process group.
    package func signal(_ number: Int32, but leader: Int32) {
        for process in processes where Linux.place(of: process).map({ $0.groupID != leader }) ?? false {
            try? Linux.kill(process: process, signal: number)
        }
    }

    /// Whether a process lives in it or below, from an open `cgroup.events`. The read content is the one that a poll
    /// for priority data then compares with.
    package static func isPopulated(events number: Int32) -> Bool {
        guard let text = try? Linux.read(number, atMost: 4096, from: 0) else { return false }
        return text.split(separator: newline).contains { $0.elementsEqual("populated 1".utf8) }
    }

    /// A number of a file such as `cpu.stat`; `nil`: there is none.
    package func number(_ key: String, in name: String) -> UInt64? {
        guard let text = try? Linux.readFile(file(name), limit: 1 << 20) else { return nil }
        for line in text.split(separator: Self.newline) {
            let words = line.split(separator: UInt8(ascii: " "))
            if key.isEmpty, words.count == 1 { return UInt64(String(decoding: words[0], as: UTF8.self)) }
            if words.count == 2, words[0].elementsEqual(key.utf8) {
                return UInt64(String(decoding: words[1], as: UTF8.self))
            }
        }
        return nil
    }

    /// The sums of a nested file such as `io.stat` over its lines; `nil`: there is none.
    package func sum(_ key: String, in name: String) -> UInt64? {
        guard let text = try? Linux.readFile(file(name), limit: 1 << 20) else { return nil }
        var total: UInt64 = 0
        for word in text.split(whereSeparator: { $0 == Self.newline || $0 == UInt8(ascii: " ") }) {
            guard word.starts(with: "\(key)=".utf8) else { continue }
            total &+= UInt64(String(decoding: word.dropFirst(key.utf8.count + 1), as: UTF8.self)) ?? 0
        }
        return total
    }

    /// The words in `cgroup.controllers` and the like.
    package func words(of name: String) -> [String] {
        ((try? Linux.readFile(file(name), limit: 4096)) ?? []).split {
            $0 == Self.newline || $0 == UInt8(ascii: " ")
        }.map { String(decoding: $0, as: UTF8.self) }
    }
}
