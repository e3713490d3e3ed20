import Engine
import EventSources
import LinuxSystem

/// Tells how far a run says that it is (`Progress=`): `STATUS=` of `sd_notify(3)`, the newest one, and not more often
/// than people read. Confined to the core.
final class ProgressWatch {
    /// Bytes of a text; a longer one is cut.
    private static let longest = 200
    /// Microseconds from one report to the next.
    private static let pause = 200_000

    private let core: Context
    private let tell: (String) -> Void
    private var receiver: NotificationReceiver?
    /// Not told yet.
    private var newest: String?
    private var isPausing = false
    private var isOver = false

    /// For the environment of the processes.
    var socketName: String? { receiver?.name }

    init(_ environment: RunEnvironment, tell: @escaping (String) -> Void) throws(SystemError) {
        core = environment.core
        self.tell = tell
        receiver = try NotificationReceiver(environment) { [weak self] in self?.take($0) }
    }

    /// There is a process; each command of a run is another one.
    func begin(_ processID: Int32, in leaf: ControlGroup?) { receiver?.begin(processID, in: leaf) }

    /// The run has ended.
    func end() {
        guard !isOver else { return }
        receiver?.end()
        isOver = true
        if let newest { tell(newest) }
        newest = nil
    }

    private func take(_ lines: [ArraySlice<UInt8>]) {
        guard let line = lines.last(where: { $0.starts(with: "STATUS=".utf8) }),
            let text = Self.text(line.dropFirst("STATUS=".utf8.count))
        else { return }
        newest = text
        if !isPausing { report() }
    }

    private func report() {
        guard let text = newest, !isOver else { return }
        newest = nil
        isPausing = true
        tell(text)
        let bound = QueueBound(self, to: core)
        core.after(Self.pause) {
            bound.value.isPausing = false
            bound.value.report()
        }
    }

    /// `nil`: it is no text, or there is nothing in it.
    static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let plain = text.unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: " "
            default: scalar
            }
        }
        var shown = String(String.UnicodeScalarView(plain))
        while shown.utf8.count > longest { shown.removeLast() }
        let isEmpty = shown.allSatisfy { $0 == " " }
        return isEmpty ? nil : shown
    }
}
