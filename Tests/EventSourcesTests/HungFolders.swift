import Dispatch
import EventSources
import LinuxSystem
import ProgramKit
import Synchronization

/// Paths that do not answer until they are told to.
final class HungFolders: Sendable {
    private let gates: Mutex<[[UInt8]: DispatchSemaphore]>
    /// Of what is there no longer.
    private let lost = Mutex<[DispatchSemaphore]>([])
    private let asked = Mutex<[[UInt8]]>([])

    init(_ paths: some Sequence<String>) {
        gates = Mutex(Dictionary(uniqueKeysWithValues: paths.map { (Array($0.utf8), DispatchSemaphore(value: 0)) }))
    }

    /// How often it was asked.
    func count(_ path: String) -> Int { asked.withLock { $0.count { $0 == Array(path.utf8) } } }

    var all: [String] { asked.withLock { $0.map { String(decoding: $0, as: UTF8.self) } } }

    /// What a lane does.
    func probe(_ path: [UInt8]) {
        asked.withLock { $0.append(path) }
        guard let gate = gates.withLock({ $0[path] }) else { return }
        gate.wait()
        gate.signal()
    }

    /// From now on it does not answer.
    func hang(_ path: String) { gates.withLock { $0[Array(path.utf8)] = DispatchSemaphore(value: 0) } }

    /// From now on it answers.
    func heal(_ path: String) { gates.withLock { $0.removeValue(forKey: Array(path.utf8)) }?.signal() }

    /// Something that answers comes in its place. Who has been asked does not come back.
    func replace(_ path: String) {
        guard let gate = gates.withLock({ $0.removeValue(forKey: Array(path.utf8)) }) else { return }
        lost.withLock { $0.append(gate) }
    }

    /// Nobody hangs any longer.
    func healAll() {
        let all = gates.withLock { gates in
            defer { gates = [:] }
            return gates.values.map(\.self)
        }
        for gate in all + lost.withLock({ $0 }) { gate.signal() }
    }
}
