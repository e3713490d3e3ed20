import Glibc
import LinuxSystem
import ProgramKit
import SeedKit
import Synchronization
import Testing
import Varlink

/// A tree that threads change at random beside a daemon, and what the runs of that were told.
///
/// Changes come in rounds: between two of them everything is told, so that what is told of a path in the next one is
/// known to be news or not.
final class TreeMutation {
    private static let threads = 3

    /// Its line is in the file before the operation ends: in one life of the daemon the lines of a path are in order.
    private static let record = """
        #!/bin/bash
        read -r event
        printf '%s\\n' "$LIFE ${EPOCHREALTIME/[.,]/} $event" >>"${0%/*}/told"

        """

    /// One thread's mutator.
    private final class Hand: Sendable {
        let mutator: Mutex<TreeMutator>
        init(_ mutator: TreeMutator) { self.mutator = Mutex(mutator) }
    }

    private let seed: UInt64
    private let polls: Bool
    private let lives: Lives
    private let hands: [Hand]
    private var random: SeededGenerator
    private var isOther = false
    /// Lives that ended by a kill.
    private var killed: Set<Int> = []
    private var wasKilled = false
    private var burst = 0
    private var told = ToldPaths()
    /// Lines that were there when the round began.
    private var seen = 0
    /// What stood there then, as `lstat(2)` has it.
    private var before: [String: FileStatus] = [:]
    private var journal: [(time: Int64, text: String)] = []

    static func run(_ seed: UInt64, polls: Bool) throws {
        try Lives.run(text(life: 1, polls, isOther: false)) { folder in
            try folder.write("record", record, mode: 0o755)
            for name in ["in", "out", "in/same", "in/same/deep"] { try folder.makeFolder(name) }
            for name in ["in/same/f", "in/same/deep/g"] { try folder.write(name, "as it is") }
        } body: { lives in
            let mutation = TreeMutation(seed, polls, lives)
            do {
                for _ in 0..<LongPart.count(2, long: 5) { try mutation.round() }
            } catch {
                Issue.record("seed \(seed): \(error)\n\(mutation.story())\n\(lives.folder.text("log").suffix(8000))")
            }
        }
    }

    private init(_ seed: UInt64, _ polls: Bool, _ lives: Lives) {
        (self.seed, self.polls, self.lives) = (seed, polls, lives)
        hands = (0..<Self.threads).map { number in
            let seed = seed &* 1000 &+ UInt64(number)
            return Hand(TreeMutator(lives.folder, seed: seed, number: number, of: Self.threads))
        }
        random = SeededGenerator(seed: seed &+ 4_000_000)
    }

    private static func text(life: Int, _ polls: Bool, isOther: Bool) -> String {
        """
        [Path in]
        Path=@/in
        Recursive=yes
        Events=created written deleted renamed
        \(polls ? "Poll=yes\nPollSec=100ms" : "")
        \(isOther ? "Exclude=**/never\nSettleSec=5ms" : "")
        Key=%p
        Environment=LIFE=\(life)
        Exec=@/record

        """
    }

    // MARK: What happens

    private func round() throws {
        for hand in hands { hand.mutator.withLock { $0.beginRound() } }
        (seen, wasKilled, before) = (told.lines.count, false, [:])
        for path in hands[0].mutator.withLock({ $0.paths() }) {
            before[path.hasSuffix("/") ? String(path.dropLast()) : path] = status(path)
        }
        for _ in 0..<2 { try live() }
        try lives.watchd.waitUntilReady()
        change(4)
        let number = told.lines.count
        do {
            try wait(for: "all to be told", seconds: 30) { try flaw() == nil }
            try lives.folder.write("in/last\(number)", "")
            try wait(for: "the last one") {
                try told.read(lives.folder)
                return told.last["last\(number)"] != nil
            }
            try lives.watchd.waitUntilIdle()
        } catch {
            throw TimedOut(description: "\(error): \(try flaw() ?? "nothing is missing")")
        }
        if let flaw = try flaw() { throw TimedOut(description: flaw) }
        note("all is told")
    }

    private func note(_ text: String) { journal.append((Linux.now(.realtime), text)) }

    private func live() throws {
        switch random.upTo(4) {
        case 0:
            change(20)
            try lives.watchd.waitUntilReady()
            note("stop")
            lives.stop()
            try nextLife()
        case 1, 2:
            change(20) {
                note("kill")
                lives.kill()
            }
            killed.insert(lives.count)
            wasKilled = true
            try nextLife()
        case 3: try reload()
        default: try overflow()
        }
    }

    private func nextLife() throws {
        change(15)
        let text = Self.text(life: lives.count + 1, polls, isOther: isOther)
        note("start")
        try lives.start(text, untilReady: random.chance(50))
    }

    private func reload() throws {
        try lives.watchd.waitUntilReady()
        isOther = random.chance(50)
        try lives.write(Self.text(life: lives.count, polls, isOther: isOther))
        change(20) {
            note("reload")
            lives.watchd.send(SIGHUP)
        }
    }

    /// More happens than the kernel's queue has room for, while the daemon stands still.
    private func overflow() throws {
        try lives.watchd.waitUntilReady()
        note("overflow")
        lives.watchd.send(SIGSTOP)
        defer { lives.watchd.send(SIGCONT) }
        let text = String(decoding: try Linux.readFile("/proc/sys/fs/inotify/max_queued_events"), as: UTF8.self)
        let limit = polls ? 0 : Int(text.split(separator: "\n").first ?? "") ?? 0
        // Two reports each.
        for number in 0...min(limit, 100_000) / 2 {
            burst += 1
            let name = lives.folder["in/burst\(number % 2)"]
            try Linux.mkdir(name, mode: 0o755)
            try Linux.rmdir(name)
        }
        change(20)
    }

    /// Each thread makes up to so many changes.
    ///
    /// - Parameter meanwhile: done while they go on.
    private func change(_ count: Int, _ meanwhile: () -> Void = {}) {
        let threads = hands.map { hand in
            let count = random.upTo(count)
            return Background {
                hand.mutator.withLock { mutator in
                    // The folders that stay as they are, are left alone.
                    for _ in 0..<count { mutator.step(besides: "same") }
                }
            }
        }
        defer { for thread in threads { thread.join() } }
        meanwhile()
    }

    private func status(_ path: String) -> FileStatus? { try? Linux.lstat(lives.folder["in/\(path)"]) }

    // MARK: What was told

    /// What is wrong, or not told yet; `nil`: nothing.
    private func flaw() throws -> String? {
        try told.read(lives.folder)
        let mutators = hands.map { $0.mutator.withLock { $0 } }
        let touched = Set(mutators.flatMap(\.touched).map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 })
        let linked = Set(mutators.flatMap(\.linked))
        for path in touched where !path.isEmpty {
            let status = status(path)
            let isOfSeveral = linked.contains(status?.inode ?? 0)
            if let flaw = flaw(path, status, isOfSeveralNames: isOfSeveral) { return flaw }
        }
        for (path, last) in told.last where !touched.contains(path) && !path.hasPrefix("last") {
            guard let status = status(path) else { continue }
            if path.hasPrefix("same") { return "\(path) was told, and never changes" }
            // What was told and is not recorded yet is told again after a kill, and by a round of comparisons.
            if last.line < seen || wasKilled || polls || linked.contains(status.inode) { continue }
            // A thread may have moved a folder while another one changed what stands in it.
            if status != before[path] { continue }
            return "\(path) was told, and is unchanged"
        }
        return nil
    }

    private func flaw(_ path: String, _ status: FileStatus?, isOfSeveralNames: Bool) -> String? {
        guard let last = told.last[path] else {
            // It may have come and gone in between.
            return status == nil ? nil : "\(path) was not told"
        }
        guard let status else {
            // What was told in the last moment before a kill is in no snapshot yet: gone at the next start, nobody knows
            // that it was there.
            return !last.isThere || killed.contains(last.life) ? nil : "the end of \(path) was not told"
        }
        if !last.isThere {
            // The same of one that was told as gone, and which the next start finds made anew.
            return killed.contains(last.life) && status.kind == .folder ? nil : "\(path) was told to be gone last"
        }
        // By another name of it, what happens to one is not told.
        if status.kind == .folder || isOfSeveralNames { return nil }
        return last.begun < status.modified / 1000 ? "the last state of \(path) was not told" : nil
    }

    /// All that was done, and told, in the round, by time.
    private func story() -> String {
        let done = hands.enumerated().flatMap { number, hand in
            hand.mutator.withLock { $0.journal }.map { ($0.time, "\(number): \($0.text)") }
        }
        let lines = told.lines.map { ($0.begun, "    life \($0.life), operation \($0.operation): \($0.text)") }
        let all = (journal.map { ($0.time, "== \($0.text)") } + done + lines).sorted { $0.0 < $1.0 }
        return all.map { "\($0.0 % 1_000_000_000) \($0.1)" }.joined(separator: "\n")
    }
}
