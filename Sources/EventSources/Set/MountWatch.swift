import LinuxSystem

/// Tells where something was mounted, unmounted or moved (`proc_pid_mountinfo(5)`), which inotify does not tell.
/// Confined to its context; lives as long as the sources.
final class MountWatch {
    /// Microseconds: mounts come in groups.
    private static let moment = 50_000

    private let environment: SourceEnvironment
    private let changed: ([[UInt8]]) -> Void
    /// `nil`: it is not begun, or cannot be known.
    private var file: Int32?
    private var token: UInt64?
    private var table = MountTable([])
    private var isReading = false

    /// - Parameter changed: called with the places.
    init(_ environment: SourceEnvironment, changed: @escaping ([[UInt8]]) -> Void) {
        self.environment = environment
        self.changed = changed
    }

    /// Does nothing where it has begun.
    func begin() {
        guard file == nil else { return }
        file = (try? Linux.open("/proc/self/mountinfo"))?.release()
        wait()
        table = .current
    }

    private func wait() {
        guard let file else { return }
        if let token { environment.priority.remove(token) }
        // It tells with POLLERR as well, after which it is asked anew.
        token = try? environment.priority.add(file) { [weak self] _ in self?.plan() }
    }

    private func plan() {
        wait()
        guard !isReading else { return }
        isReading = true
        environment.inotify.after(Self.moment) { [weak self] in self?.read() }
    }

    private func read() {
        isReading = false
        let new = MountTable.current
        let places = new.changes(since: table)
        table = new
        if !places.isEmpty { changed(places) }
    }
}

extension SourceSet {
    /// Something else may stand at these places, and below.
    func mountsChanged(_ places: [[UInt8]]) {
        for source in pathSources { source.mountsChanged(places) }
    }
}
