import Engine
import LinuxSystem

/// A handler that writes what its source watches, in words.
enum LoopText {
    static func sentence(_ loop: FoundLoop) -> String {
        "handler \(loop.handler) writes what starts it: \(loop.path.printable)"
    }

    static func consequence(_ loop: FoundLoop) -> String {
        loop.isStopped
            ? "suspended until watchctl resume \(loop.source) (Loop=stop)"
            : "it starts itself again and again (Loop=warn)"
    }

    static let help = "Let it write elsewhere, or leave out with Exclude= what it writes"
}
