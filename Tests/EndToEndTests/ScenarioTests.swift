import LinuxSystem
import ProgramKit
import Testing

/// Scenarios: a folder each, with a watch file (`watch`), a shell script that causes events (`steps`) and what must
/// have been written into `ran` at the end, in this order (`expected`).
///
/// `@/` in the watch file is the folder of the run, where `steps` runs as well. It may use `watchctl`, and
/// `await N`, which waits until `ran` has N lines.
@Suite("Scenarios, end to end") struct ScenarioTests {
    private static let folder: String = {
        let file = #filePath
        return "\(file[..<(file.lastIndex(of: "/") ?? file.startIndex)])/Scenarios"
    }()

    static let names: [String] = ((try? Linux.readFolder(folder)) ?? [])
        .map { String(decoding: $0.name, as: UTF8.self) }.sorted()

    private static let head = """
        watchctl() { "$WATCHCTL" --socket socket "$@" >>steps.log 2>&1; }
        await() {
            n=0
            while [ "$(wc -l <ran 2>/dev/null || echo 0)" -lt "$1" ] && [ $n -lt 1500 ]; do n=$((n + 1)); sleep 0.02; done
        }

        """

    private static func text(_ name: String, _ file: String) throws -> String {
        String(decoding: try Linux.readFile("\(folder)/\(name)/\(file)"), as: UTF8.self)
    }

    @Test(arguments: names) func whatMustRunRunsAndNothingElse(_ name: String) throws {
        let expected = try Self.text(name, "expected")
        let prepare: (Folder) throws -> Void = { try $0.makeFolder("in") }
        try Watchd.run(try Self.text(name, "watch"), prepare: prepare) { watchd in
            let end = try Program.run(
                ["sh", "-eu", "-c", Self.head + (try Self.text(name, "steps"))],
                environment: Program.environment + ["WATCHCTL=\(try Products.path("watchctl"))"],
                folder: watchd.folder.path)
            #expect(end.code == 0, "\(end) \(watchd.folder.text("steps.log"))")
            let count = expected.split(separator: "\n", omittingEmptySubsequences: false).count - 1
            try wait(for: "\(count) lines, got \(watchd.folder.text("ran"))") {
                watchd.folder.lines("ran").count >= count
            }
            try watchd.waitUntilIdle()
            #expect(watchd.folder.text("ran") == expected)
        }
    }
}
