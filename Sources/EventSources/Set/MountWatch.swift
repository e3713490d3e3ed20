import LinuxSystem

/// Tells where something was mounted, unmounted or moved (`proc_pid_mountinfo(5)`), which inotify does not tell.
/// Confined to its context; lives as long as the sources.
final class MountWatch {
    /// Microseconds: mounts come in groups.
    private static let moment = 50_000

    private let environment: SourceEnvironment
    private let changed: ([[UInt8]]) -> Void
    /// `nil`: it is not begun, or cannot be known.
    private var source: PrioritySource?
    private var table = MountTable([])
    private var isReading = false
    private var isLookPlanned = false

    /// - Parameter changed: called with the places.
    init(_ environment: SourceEnvironment, changed: @escaping ([[UInt8]]) -> Void) {
        self.environment = environment
        self.changed = changed
    }

    /// Does nothing where it has begun.
    func begin() {
        guard source == nil else { return }
        // It tells with POLLERR, and goes on.
        source = try? PrioritySource(Linux.open("/proc/self/mountinfo"), on: environment.core) { [weak self] _ in
            self?.plan()
        }
        table = .current
        environment.inotify.unmounted = { [weak self] in self?.planLook() }
    }

    /// A watched file system has been unmounted. The mount that comes at once in its place gets its number, and one of
    /// the same file system leaves the table as it was: each place is compared.
    private func planLook() {
        guard !isLookPlanned else { return }
        isLookPlanned = true
        environment.inotify.after(2 * Self.moment) { [weak self] in
            guard let self else { return }
            isLookPlanned = false
            let new = MountTable.current
            let places = Set(new.changes(since: table)).union(new.places)
            table = new
            changed(Array(places))
        }
    }

    private func plan() {
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
