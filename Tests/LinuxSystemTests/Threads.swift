import ProgramKit

/// Runs `body` on `count` threads at once, each with its number, and waits for all.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let threads = (0..<count).map { index in Background { body(index) } }
    for thread in threads { thread.join() }
}
