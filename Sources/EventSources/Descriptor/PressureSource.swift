import Engine
import LinuxSystem
package import WatchFile

/// `Pressure=`: tasks were stalled for so long within a window (PSI). At most once a window. Confined to its context.
package final class PressureSource: EventSource {
    private let id: SourceID
    private let limit: PressureLimit
    private let environment: SourceEnvironment
    private var source: PrioritySource?
    private var retry = Retry()
    private var isClosed = false

    package init(_ id: SourceID, _ limit: PressureLimit, _ environment: SourceEnvironment) {
        self.id = id
        self.limit = limit
        self.environment = environment
    }

    private var path: String { "/proc/pressure/\(limit.resource.rawValue)" }

    package var descriptorCount: Int { source == nil ? 0 : 1 }

    package func open() {
        do throws(SystemError) {
            try DescriptorRoom.check()
            source = try PrioritySource(begin(), on: environment.core) { [weak self] in self?.reached(isBroken: $0) }
            retry.reset()
            environment.send(.source(id, .armed))
        } catch {
            failed(explain(error))
        }
    }

    /// The file, which has been told the limit.
    private func begin() throws(SystemError) -> FileDescriptor {
        let opened = try Linux.open(path, [.readingAndWriting, .nonBlocking])
        do throws(SystemError) {
            try Linux.writeAll(opened.rawValue, "\(limit.share.rawValue) \(limit.stall) \(limit.window)\0".utf8)
        } catch {
            opened.close()
            throw error
        }
        return opened
    }

    private func explain(_ error: SystemError) -> String {
        switch error.errno {
        case .invalidArgument where limit.window % 2_000_000 != 0:
            "\(error): without CAP_SYS_RESOURCE the window has to be a multiple of 2s"
        case .noSuchFile: "\(error): this kernel has no pressure information"
        case .notSupported: "\(error): pressure is switched off (psi=1 on the kernel's command line)"
        default: "\(error)"
        }
    }

    private func failed(_ reason: String) {
        source.take()?.cancel()
        guard !isClosed else { return }
        retry.schedule(on: environment.core) { [weak self] in self?.open() }
        environment.send(.source(id, retry.condition(reason)))
    }

    package func close() {
        isClosed = true
        retry.cancel()
        source.take()?.cancel()
    }

    /// It comes once a window at most: there is nothing to hold back.
    package func rest() {
        retry.cancel()
        hold()
    }

    package func hold() {}
    package func release() {}

    private func reached(isBroken: Bool) {
        if isBroken { return failed("\(path) reports no more events") }
        environment.send(.event(id, .line(LineFact(line, form: .pressure))))
    }

    /// `some avg10=1.53 avg60=0.87 avg300=0.21 total=…`, as it is now.
    private var line: [UInt8] {
        let text = (try? Linux.readFile(path, limit: 4096)) ?? []
        let prefix = Array(limit.share.rawValue.utf8)
        return text.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: prefix) }.map { Array($0) } ?? []
    }
}
