import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// Two names that change places at once (`rename(2)` RENAME_EXCHANGE), and what happens to them next, before the first
/// report is read.
@Suite("Exchanged names", .ownThread) struct ExchangeTests {
    /// `x a b` exchanges, `w a` writes, `r a` removes, `m a b` renames, `d a` makes a folder.
    private static let program = """
        import ctypes, os, shutil, sys
        for step in sys.argv[1].split(';'):
            verb, *names = step.split()
            if verb == 'x':
                both = [name.encode() for name in names]
                if ctypes.CDLL(None).renameat2(-100, both[0], -100, both[1], 2) != 0: sys.exit(1)
            elif verb == 'w': open(names[0], 'a').write('more')
            elif verb == 'm': os.rename(*names)
            elif verb == 'd': os.mkdir(names[0])
            elif os.path.isdir(names[0]): shutil.rmtree(names[0])
            else: os.unlink(names[0])
        """

    private func states(_ folder: String) throws -> [String: String] {
        let found = try Program.run(
            ["find", ".", "-mindepth", "1", "-type", "f", "-printf", "%P %i %s %T@\\n"], folder: folder)
        return found.text.split(separator: "\n").reduce(into: [:]) { states, line in
            let words = line.split(separator: " ", maxSplits: 1)
            states[String(words[0])] = String(words[1])
        }
    }

    /// The last that was told of each path: whether something stands there.
    private func told(_ rim: Rim, below folder: Folder) -> [String: Bool] {
        let root = folder["in"].utf8.count + 1
        return rim.paths.reduce(into: [:]) { told, fact in
            func name(_ path: [UInt8]) -> String { String(decoding: path.dropFirst(root), as: UTF8.self) }
            if let old = fact.oldPath { told[name(old)] = false }
            told[name(fact.path)] = fact.change != .deleted
        }
    }

    @Test(
        arguments: [
            "x a b", "x a b;r a", "x a b;r b", "x a b;w a", "x a b;m a c", "x a b;m b c", "x a b;x a b", "x a b;x b d",
            "w n;x n a;r n", "w c;x c a;r c", "w a;x a b", "x a b;x a b;x a b", "m a c;m c a", "m a b;m b a",
            "d n;w n/x;w n/new;x n f;r n", "d n;w n/x;x n f", "x f g", "x f g;r f", "x f g;x f g", "x a f", "x a f;r f",
            "x a f;w f;m f c", "m f c;m c f", "x a b;r a;w a", "x f g;r g;d g;w g/y",
            "x p/q f", "x f p/q", "x p/q/z a", "x a p/q/z", "x p/q/z f", "x p/q a", "x f p/q;m p r", "x p/q f;m p r",
            "x a p/q/z;m p r", "x p/q/z a;m p r", "x f p/q/z;m p r", "x p/q a;m p r", "x p/q/z a;r a", "x p/q a;r a",
        ], [true, false])
    func theLastOfEachNameIsTold(_ steps: String, isRecursive: Bool) throws {
        try Folder.with { folder in
            for name in ["", "f", "g", "p", "p/q"] { try folder.makeFolder("in/\(name)") }
            for name in ["a", "b", "d", "f/x", "f/y", "g/x", "g/z", "p/q/z"] { try folder.write("in/\(name)", name) }
            let trigger = PathTrigger(
                paths: [folder["in"].pathBytes], events: [.written, .deleted, .renamed], isRecursive: isRecursive)
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                let before = try states(folder["in"])
                try rim.core.queue.sync {
                    let done = try Program.run(["python3", "-c", Self.program, steps], folder: folder["in"])
                    #expect(done.code == 0, "\(done)")
                }
                try folder.write("in/last", "")
                let after = try states(folder["in"])
                let names = Set(before.keys).union(after.keys).filter { isRecursive || !$0.contains("/") }
                let wanted = names.filter { before[$0] != after[$0] }
                    .map { "\($0) \((try? Linux.lstat(folder["in/\($0)"])) != nil)" }.sorted()
                func lacking() -> [String] {
                    let told = told(rim, below: folder)
                    return wanted.filter { word in
                        let parts = word.split(separator: " ")
                        return told[String(parts[0])].map { "\($0)" } != String(parts[1])
                    }
                }
                try wait(for: "\(lacking()) after \(rim.paths.map(\.change))", seconds: 10) { lacking().isEmpty }
                // Nothing that stands is told as gone.
                for (name, stands) in told(rim, below: folder) where !stands {
                    #expect((try? Linux.lstat(folder["in/\(name)"])) == nil, "\(name)")
                }
            }
        }
    }
}
