import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import Varlink

/// A store that cannot be used, or not for a while: what is not durable goes on, and the rest is refused by name or
/// waits.
@Suite("Store in trouble, end to end", .ownThread) struct StoreTroubleTests {
    static let text = """
        [Queue kept]
        Durable=yes
        [Custom poke]
        Exec=@/job
        Queue=kept
        Key=none
        Coalesce=no
        [Descriptor lines]
        ListenFIFO=@/pipe
        Exec=@/job
        Queue=kept
        [Custom other]
        Exec=@/bin/cat
        StandardOutput=append:@/others
        Key=none
        Coalesce=no
        [Custom first]
        Exec=/bin/true
        Once=ever

        """

    /// An emit whose reply may take long.
    private final class PatientEmit {
        enum Outcome: Equatable {
            case accepted
            case refused(String)
            case broken(String)
        }
        private let outcome = Slot()
        private let thread: Background

        private final class Slot: Sendable {
            let value = Mutex<Outcome?>(nil)
        }

        init(_ socket: String, _ name: String, data: Int) {
            thread = Background { [outcome] in
                let result: Outcome
                do {
                    let client = try Client(connectingTo: socket)
                    let parameters = Emit.Parameters(name: name, data: data)
                    let reply: Emit.Reply = try client.call(Emit.fullName, parameters, timeout: 90_000).parameters()
                    result = reply.event > 0 ? .accepted : .broken("no id")
                } catch ClientError.remote(let error) {
                    result = .refused("\(error.name) \(error.parameters)")
                } catch {
                    result = .broken("\(error)")
                }
                outcome.value.withLock { $0 = result }
            }
        }

        /// `nil`: it waits.
        var now: Outcome? { outcome.value.withLock { $0 } }
    }

    private func withDisk(_ body: (Lives, SmallDisk) throws -> Void) throws {
        try Lives.run(Self.text, onSmallDisk: true) { lives in
            guard let disk = lives.disk else { return print("SKIPPED: no file system can be mounted") }
            try lives.folder.write("go", "")
            try body(lives, disk)
        }
    }

    private func emitOthers(_ watchd: Watchd, _ data: ClosedRange<Int>) throws {
        for number in data { try watchd.emit("other", data: number) }
        let tokens = { try watchd.folder.lines("others").flatMap { try Told($0).tokens } }
        try wait(for: "what is not durable to go on") { try Set(tokens()).isSuperset(of: data) }
    }

    private func waitForProblem(_ watchd: Watchd, _ text: String) throws {
        var problems: [GetStatus.Problem] = []
        try wait(for: "a problem that says \(text), got \(problems)") {
            problems = try watchd.status().problems
            return problems.contains { $0.problem.contains(text) }
        }
    }

    private func waitForNoProblem(_ watchd: Watchd) throws {
        try wait(for: "the problem to be over", seconds: 30) { try watchd.status().problems.isEmpty }
    }

    /// While the disk is full a durable emit waits, or is refused with the reason.
    private func expectHeld(_ emit: PatientEmit) {
        switch emit.now {
        case nil: break
        case .refused(let why): #expect(why.contains("no space left"), "\(why)")
        case let other?: Issue.record("a durable emit on a full disk: \(other)")
        }
    }

    /// The store learns of the full disk by this run.
    @Test func aRunThatWaitsForAFullDiskSaysSo() throws {
        try withDisk { lives, disk in
            try disk.fill()
            let run = Background { [socket = lives.watchd.socket, path = lives.folder.path] in
                guard let watchctl = try? Products.path("watchctl") else { return }
                let line = "\"$0\" --socket \"$1\" run poke >\"$2/said\" 2>&1"
                _ = try? Program.run(["/bin/sh", "-c", line, watchctl, socket, path])
            }
            let reason = "no space left for \(lives.folder["state"])/watchd.db"
            try wait(for: "watchctl to say why it waits") {
                lives.folder.text("said").contains("watchctl: watchd waits for its store: \(reason)")
            }
            func explained() throws -> [String] {
                let steps = try lives.watchd.call(Explain.self, .init(name: "poke")).steps
                return steps.filter { $0.operation != nil }.map { "\($0.code): \($0.sentence)" }
            }
            let id = try #require(try lives.watchd.status().waiting.first?.id)
            let waits = "operation \(id) waits for the store: \(reason)"
            #expect(try explained().contains("store: \(waits)"))
            #expect(try !explained().contains { $0.hasPrefix("started") })
            #expect(try lives.watchd.status().processes == 0)
            try disk.free()
            try lives.watchd.waitForEnded(1, of: "poke")
            run.join()
            let told = try explained()
            let codes = told.compactMap { $0.split(separator: ":").first }.filter { ["store", "started"].contains($0) }
            #expect(codes == ["store", "started"], "\(told)")
        }
    }

    /// As at a boot that mounts its disks for reading first. Somebody has read the store meanwhile.
    @Test func aDiskThatLetsNobodyWriteAtTheStartHealsByItself() throws {
        try withDisk { lives, disk in
            try lives.watchd.emit("poke", data: 1)
            try lives.watchd.waitForEnded(1, of: "poke")
            #expect(try lives.watchd.control("suspend", "kept").code == 0)
            try lives.watchd.emit("poke", data: 2)
            lives.kill()
            try disk.remount("ro")
            try lives.start()
            try waitForProblem(lives.watchd, "read-only")
            #expect(try lives.watchd.control("history").text.contains("poke"))
            for verb in ["show", "explain", "wait", "cancel"] {
                let answer = try lives.watchd.control(verb, "2")
                #expect(answer.code != 0 && answer.errorText.contains("operation 2 may be in it"), "\(answer)")
            }
            for words in [[], ["--requires"]] {
                let answer = try lives.watchd.control(
                    ["run", "--queue", "default", "--after", "2"] + words + ["--", "true"])
                #expect(answer.code != 0 && answer.errorText.contains("operation 2 may be in it"), "\(answer)")
            }
            let emit = PatientEmit(lives.watchd.socket, "poke", data: 3)
            try disk.remount("rw")
            try waitForNoProblem(lives.watchd)
            try wait(for: "the emit to be accepted") { emit.now == .accepted }
            #expect(try lives.watchd.control("resume", "kept").code == 0)
            try lives.watchd.waitForEnded(2, of: "poke")
        }
    }

    @Test func aRunWhoseOnceIsNotStoredSaysSo() throws {
        try withDisk { lives, disk in
            try disk.fill()
            let run = try lives.watchd.control("run", "first", "--wait")
            #expect(run.code == 0)
            #expect(run.errorText.contains("done; not stored yet: no space left"), "\(run)")
            #expect(run.errorText.contains("after a crash it runs again"))
            let screen = try lives.watchd.control("status").text
            #expect(screen.contains("after a crash Once= of first is not known"), "\(screen)")
            #expect(try lives.watchd.control("show", "1").text.contains("Not stored"))
            try disk.free()
            try waitForNoProblem(lives.watchd)
            let again = try lives.watchd.control("run", "first", "--wait")
            #expect(!again.errorText.contains("not stored"), "\(again)")
            lives.kill()
            try lives.start()
            let emit = try lives.watchd.control("emit", "first", "--wait")
            #expect(emit.text.contains("skipped"), "\(emit)")
        }
    }

    @Test func aFullDiskHoldsDurableWorkBackAndHealsByItself() throws {
        try withDisk { lives, disk in
            try lives.watchd.emit("poke", data: 1)
            try lives.watchd.waitUntilIdle()
            try disk.fill()
            // Each writes a little, so that what room there is in the files is used up.
            let emits = (2...40).map { PatientEmit(lives.watchd.socket, "poke", data: $0) }
            try waitForProblem(lives.watchd, "no space left")
            try emitOthers(lives.watchd, 101...110)
            let screen = try lives.watchd.control("status")
            #expect(screen.code == 0)
            #expect(screen.text.contains("no space left"), "\(screen.text)")
            let last = PatientEmit(lives.watchd.socket, "poke", data: 41)
            try emitOthers(lives.watchd, 111...115)
            expectHeld(last)
            try disk.free()
            try wait(for: "all to be answered", seconds: 90) { (emits + [last]).allSatisfy { $0.now != nil } }
            try wait(for: "the problem to be over") { try lives.watchd.status().problems.isEmpty }
            let accepted = (2...41).filter { (emits + [last])[$0 - 2].now == .accepted }
            for emit in emits where emit.now != .accepted { expectHeld(emit) }
            try lives.watchd.emit("poke", data: 42)
            lives.kill()
            try lives.start()
            try lives.watchd.waitUntilIdle()
            let ran = try Set(lives.begun().flatMap(\.told.tokens))
            #expect(ran == Set([1] + accepted + [42]))
        }
    }

    @Test func watchctlSaysWhatAnEmitWaitsFor() throws {
        try withDisk { lives, disk in
            try disk.fill()
            // As above; the first of them finds out.
            let emits = (2...40).map { PatientEmit(lives.watchd.socket, "poke", data: $0) }
            try waitForProblem(lives.watchd, "no space left")
            let said = try Linux.open(lives.folder["said"], [.writing, .creating, .appending]).release()
            defer { FileDescriptor(owning: said).close() }
            let words = [
                try Products.path("watchctl"), "--socket", lives.watchd.socket, "emit", "poke", "--data", "41",
            ]
            func start() throws -> Program {
                try Program(
                    words.map { Array($0.utf8) }, environment: Program.environment, descriptors: [said, said, said])
            }
            let emit = try start()
            try wait(for: "a word of it, or its end") {
                emit.hasEnded || lives.folder.text("said").contains("waiting until the event is accepted")
            }
            #expect(lives.folder.text("said").contains("no space left"), "\(lives.folder.text("said"))")
            let other = try start()
            other.send(SIGINT)
            other.wait(seconds: 10)
            #expect(other.hasEnded)
            try disk.free()
            #expect(emit.wait(seconds: 90) != nil)
            try wait(for: "all to be answered", seconds: 90) { emits.allSatisfy { $0.now != nil } }
            if emit.status == .exited(0) {
                try lives.watchd.waitUntilIdle()
                #expect(try lives.begun().flatMap(\.told.tokens).contains(41))
            }
        }
    }

    @Test func aStopOnAFullDiskDoesNotWaitForRoom() throws {
        try withDisk { lives, disk in
            try lives.watchd.emit("poke", data: 1)
            try lives.watchd.waitUntilIdle()
            try disk.fill()
            let emits = (2...40).map { PatientEmit(lives.watchd.socket, "poke", data: $0) }
            try waitForProblem(lives.watchd, "no space left")
            lives.stop()
            try wait(for: "all to be answered") { emits.allSatisfy { $0.now != nil } }
            try disk.free()
            try lives.start()
            try lives.watchd.emit("poke", data: 41)
            try lives.watchd.waitUntilIdle()
            let ran = try Set(lives.begun().flatMap(\.told.tokens))
            #expect(ran.isSuperset(of: (2...40).filter { emits[$0 - 2].now == .accepted } + [1, 41]))
        }
    }

    /// Lines of the log that say so.
    private func said(_ lives: Lives, _ text: String) -> [String] {
        lives.watchd.logText.split(separator: "\n").map(String.init).filter { $0.contains(text) }
    }

    @Test func aStopOnAFullDiskNamesWhatIsNotKept() throws {
        try withDisk { lives, disk in
            try lives.watchd.suspend("kept")
            try disk.fill()
            let emits = (1...40).map { PatientEmit(lives.watchd.socket, "poke", data: $0) }
            try waitForProblem(lives.watchd, "no space left")
            lives.stop()
            let stopped = try #require(said(lives, "stopped: ").first)
            try wait(for: "all to be answered") { emits.allSatisfy { $0.now != nil } }
            let kept = emits.count { $0.now == .accepted }
            let words = stopped.split(separator: " ").map(String.init)
            let numbers = words.indices.dropLast().filter { words[$0 + 1].hasPrefix("operation") }.compactMap {
                Int(words[$0])
            }
            #expect(numbers.count == (kept > 0 ? 2 : 1) && (kept == 0 || numbers.first == kept), "\(kept): \(stopped)")
            let lost = try #require(said(lives, "could not be stored and ").first)
            #expect(lost.contains("\(try #require(numbers.last)) operation"), "\(stopped)\n\(lost)")
            #expect(lost.contains("(poke)") && lost.contains("no space left"))
            try disk.free()
            try lives.start()
            #expect(try lives.operations(of: "poke").count == kept)
        }
    }

    @Test func aStopWithoutAStoreAndWithoutWorkSpeaksOfNoLoss() throws {
        try withDisk { lives, disk in
            lives.stop()
            let file = try lives.folder.storeFile()
            for end in ["", "-wal", "-shm"] { try? Linux.unlink(lives.folder[file + end]) }
            try Linux.unlink(lives.folder["state/watchd.lock"])
            try disk.fill()
            try lives.start()
            try waitForProblem(lives.watchd, "no space left")
            let history = try lives.watchd.control("history")
            #expect(history.errorText.contains("no space left"), "\(history)")
            lives.stop()
            #expect(said(lives, "stopped: nothing accepted").count == 2)
            #expect(said(lives, "could not be stored").isEmpty, "\(lives.watchd.logText)")
            #expect(said(lives, "does not know").isEmpty)
            try disk.free()
            try lives.start()
        }
    }

    @Test func aStartOnAFullDiskGoesOnAndTakesUpTheStoreLater() throws {
        try withDisk { lives, disk in
            try lives.watchd.suspend("kept")
            for data in 1...3 { try lives.watchd.emit("poke", data: data) }
            lives.kill()
            try disk.fill()
            try lives.start()
            try emitOthers(lives.watchd, 101...105)
            let later = PatientEmit(lives.watchd.socket, "poke", data: 4)
            let pipe = try Linux.open(lives.folder["pipe"], .writing).release()
            defer { FileDescriptor(owning: pipe).close() }
            try Linux.writeAll(pipe, "5\n6\n".utf8)
            try emitOthers(lives.watchd, 106...110)
            #expect(later.now != .accepted)
            try disk.free()
            try wait(for: "the store to be there", seconds: 90) { try lives.operations(of: "poke").count >= 3 }
            try wait(for: "the problem to be over") { try lives.watchd.status().problems.isEmpty }
            try wait(for: "an answer") { later.now != nil }
            try lives.watchd.resume("kept")
            let wanted = later.now == .accepted ? 6 : 5
            let begun = try lives.waitForBegun(wanted)
            try lives.watchd.waitUntilIdle()
            #expect(begun.prefix(3).map(\.told.tokens) == [[1], [2], [3]], "what was accepted before goes first")
            #expect(Set(begun.flatMap(\.told.tokens)) == Set(wanted == 6 ? [1, 2, 3, 4, 5, 6] : [1, 2, 3, 5, 6]))
            let ids = try Set(lives.folder.lines("others").map { try Told($0).operation })
            #expect(ids.isDisjoint(with: begun.map(\.operation)), "no id is given twice")
        }
    }

    @Test func aFolderThatIsRemovedIsMadeAnewWithAllThatWaits() throws {
        try Lives.run(Self.text) { lives in
            try lives.watchd.suspend("kept")
            for data in 1...3 { try lives.watchd.emit("poke", data: data) }
            let remove = try Program.run(["rm", "-r", lives.folder["state"]])
            #expect(remove.code == 0, "\(remove)")
            let emit = PatientEmit(lives.watchd.socket, "poke", data: 4)
            try emitOthers(lives.watchd, 101...105)
            try wait(for: "an answer", seconds: 90) { emit.now != nil }
            #expect(emit.now == .accepted)
            try wait(for: "the problem to be over") { try lives.watchd.status().problems.isEmpty }
            try lives.watchd.waitForLog("was removed")
            lives.kill()
            try lives.folder.write("go", "")
            try lives.start()
            if try lives.watchd.queue("kept").suspended > 0 { try lives.watchd.resume("kept") }
            try lives.waitForBegun(4)
            try lives.watchd.waitUntilIdle()
            #expect(try lives.begun().map(\.told.tokens) == [[1], [2], [3], [4]])
        }
    }

    // MARK: Stores that are lost

    @Test func aStoreThatIsGoneAtAStartIsNamedAndItsIdsAreNotGivenAgain() throws {
        try Lives.run(Self.text) { lives in
            try lives.folder.write("go", "")
            try lives.watchd.emit("poke", data: 1)
            try lives.waitForBegun(1)
            try lives.watchd.waitUntilIdle()
            let before = try lives.begun()[0].operation
            lives.stop()
            let name = try lives.folder.storeFile()
            try Linux.unlink(lives.folder[name])
            try lives.start()
            try waitForProblem(lives.watchd, "watchd.db is gone from")
            try lives.watchd.waitForLog("the store is lost: watchd.db is gone from")
            #expect(said(lives, "the store is lost: watchd.db is gone from").count == 1)
            try lives.watchd.emit("poke", data: 2)
            let begun = try lives.waitForBegun(2)
            #expect(begun[1].operation > before + 1_000_000)
            try lives.watchd.waitUntilIdle()
            lives.stop()
            try lives.start()
            #expect(try lives.watchd.status().problems.isEmpty, "it is told once")
        }
    }

    @Test func aLogThatWasEmptiedIsNamedAndItsIdsAreNotGivenAgain() throws {
        try Lives.run(Self.text) { lives in
            try lives.watchd.suspend("kept")
            for data in 1...3 { try lives.watchd.emit("poke", data: data) }
            let before = try lives.operations(of: "poke").map(\.id).max() ?? 0
            lives.kill()
            try lives.folder.write("\(try lives.folder.storeFile())-wal".pathBytes, [])
            try lives.start()
            try waitForProblem(lives.watchd, "has lost its last ")
            try lives.watchd.waitForLog("the store has lost its last ")
            #expect(try lives.operations(of: "poke").isEmpty)
            try lives.folder.write("go", "")
            try lives.watchd.emit("poke", data: 4)
            #expect(try lives.waitForBegun(1)[0].operation > before + 1_000_000)
            try lives.watchd.waitUntilIdle()
        }
    }

    /// What is damaged under a daemon that runs is found by whoever reads it first.
    @Test func damageThatIsFoundWhileItRunsIsToldAndNothingThatWaitsIsLost() throws {
        try Lives.run(Self.text) { lives in
            try lives.folder.write("go", "")
            for data in 1...20 { try lives.watchd.emit("other", data: data) }
            try lives.watchd.emit("poke", data: 1)
            try lives.waitForBegun(1)
            try lives.watchd.waitUntilIdle()
            // So that all of it stands in the file itself, and nothing in the memory of whoever reads it.
            lives.stop()
            try lives.start()
            try lives.watchd.suspend("kept")
            for data in 2...4 { try lives.watchd.emit("poke", data: data) }
            let name = try lives.folder.storeFile()
            let size = Int(try Linux.lstat(lives.folder[name]).size)
            let database = try Linux.open(lives.folder[name], .writing).release()
            defer { FileDescriptor(owning: database).close() }
            let garbage = [UInt8](repeating: 0xA5, count: size - 4096)
            let written = garbage.withUnsafeBytes { pwrite(database, $0.baseAddress, $0.count, 4096) }
            #expect(written == size - 4096)
            // What is read at the start, how long runs usually take, may be in memory: the rest is not.
            for words in [["history"], ["show", "3"], ["output", "3"]] {
                _ = try Program.run([try Products.path("watchctl"), "--socket", lives.watchd.socket] + words)
            }
            try waitForProblem(lives.watchd, "was damaged: it is now")
            try lives.watchd.waitForLog("the store was damaged: it is now")
            #expect(said(lives, "the store was damaged: it is now").count == 1)
            try wait(for: "it to be the only problem") { try lives.watchd.status().problems.count == 1 }
            let screen = try lives.watchd.control("history")
            #expect(screen.code == 0, "\(screen)")
            try lives.watchd.emit("poke", data: 5)
            lives.kill()
            try lives.start()
            if try lives.watchd.queue("kept").suspended > 0 { try lives.watchd.resume("kept") }
            try lives.waitForBegun(5)
            try lives.watchd.waitUntilIdle()
            #expect(try lives.begun().map(\.told.tokens) == [[1], [2], [3], [4], [5]])
        }
    }
}
