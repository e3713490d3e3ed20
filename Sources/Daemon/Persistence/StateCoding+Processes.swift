import Engine
import LinuxSystem
import WatchFile

/// Processes that outlive watchd, as marks of the store: words of ASCII, the boot they hold for in front.
extension StateCoding {
    /// Copies that a name may speak of.
    private static let copyLimit = 100_000

    static func mark(_ process: StoredProcess) -> [UInt8] {
        let launch = process.launch.map { " \($0)" } ?? ""
        let numbers = "\(process.start) \(process.pid) \(process.started) \(process.seen)\(launch)"
        return Linux.bootID + Array(" \(numbers)".utf8)
    }

    /// - Parameter name: `web/0`, the source and the copy.
    /// - Returns: `nil`: damaged, or of another boot, after which nothing of it is left.
    static func process(_ mark: [UInt8], of name: String) -> StoredProcess? {
        let names = name.split(separator: "/").map(String.init)
        let words = mark.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard names.count == 2, let copy = Int(names[1]), (0..<copyLimit).contains(copy), (5...6).contains(words.count),
            words[0].utf8.elementsEqual(Linux.bootID), let start = UInt64(words[1]), start <= 1 << 60,
            let pid = Int32(words[2]), pid > 1, let started = Int64(words[3]), (0...Int64(1 << 60)).contains(started),
            let seen = Int64(words[4]), (0...Int64(1 << 60)).contains(seen)
        else { return nil }
        return StoredProcess(
            source: SourceID(.process, names[0]), copy: copy, start: start, pid: pid, started: started, seen: seen,
            launch: words.count > 5 ? LaunchFingerprint(words[5]) : nil)
    }

    static func mark(_ tickets: [GroupTicket]) -> [UInt8] {
        let words = tickets.map { " \($0.number) \($0.holder?.process ?? 0) \($0.holder?.started ?? 0)" }
        return Linux.bootID + words.flatMap { Array($0.utf8) }
    }

    /// Nobody of another boot holds one.
    static func tickets(_ mark: [UInt8]) -> [GroupTicket] {
        let words = mark.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard words.count % 3 == 1, words[0].utf8.elementsEqual(Linux.bootID) else { return [] }
        return stride(from: 1, to: words.count, by: 3).compactMap { place in
            guard let number = UInt64(words[place]), number <= 1 << 60,
                let process = Int32(words[place + 1]), process > 0,
                let started = Int64(words[place + 2]), (0...Int64(1 << 60)).contains(started)
            else { return nil }
            return GroupTicket(number: number, holder: CommandFact.Holder(process: process, started: started))
        }
    }
}
