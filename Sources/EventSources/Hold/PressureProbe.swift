import LinuxSystem
import WatchFile

/// `pressure:…`: tasks have been stalled for less of the last ten seconds than that. The kernel tells when a pressure
/// grows, and nobody when it has gone: while it is too high, it is read every two seconds, as often as the kernel
/// reckons it anew. Confined to its context.
final class PressureProbe: HoldProbe {
    private static let interval = 2_000_000

    private let environment: HoldEnvironment
    private let resource: PressureLimit.Resource
    private let share: PressureLimit.Share
    private let percent: Int
    private let tell: (String?) -> Void
    private var isOver = false

    init(
        _ environment: HoldEnvironment, _ resource: PressureLimit.Resource, _ share: PressureLimit.Share, percent: Int,
        _ tell: @escaping (String?) -> Void
    ) {
        self.environment = environment
        (self.resource, self.share, self.percent, self.tell) = (resource, share, percent, tell)
    }

    func begin() {
        guard !isOver else { return }
        let text = (try? Linux.readFile("\(environment.proc)/pressure/\(resource.rawValue)", limit: 4096)) ?? []
        tell(Self.obstacle(text, share, percent: percent))
        let bound = QueueBound(self, to: environment.core)
        environment.core.after(Self.interval) { bound.value.begin() }
    }

    func end() { isOver = true }

    /// From a file of `/proc/pressure`: `some avg10=1.53 avg60=…`. Where the kernel knows no pressure, none is too high.
    static func obstacle(_ text: [UInt8], _ share: PressureLimit.Share, percent: Int) -> String? {
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map { $0.split(separator: " ") }
        guard let words = lines.first(where: { $0.first?.elementsEqual(share.rawValue) ?? false }),
            let word = words.first(where: { $0.hasPrefix("avg10=") }), let average = Double(word.dropFirst(6)),
            average >= Double(percent)
        else { return nil }
        return "it is \(word.dropFirst(6))%"
    }
}
