import LinuxSystem
import WatchFile

/// `path:…`: something stands there. Woken by inotify, also where folders on the way are not there yet, and by mounts.
/// Confined to its context.
final class PathProbe: HoldProbe {
    /// Microseconds between two looks where the kernel cannot tell.
    private static let interval = 10_000_000

    private let environment: HoldEnvironment
    private let path: [UInt8]
    private let tell: (String?) -> Void
    private var watch: LinkWatch?
    private var mounts: PrioritySource?
    private var isOver = false
    /// Something on the way cannot be watched, or its file system does not tell of changes.
    private var isBlind = false
    private var isLooking = false
    private var isDirty = false
    /// The next look from time to time is planned.
    private var isPlanned = false
    private var bound: QueueBound<PathProbe> { QueueBound(self, to: environment.core) }

    init(_ environment: HoldEnvironment, _ path: [UInt8], _ tell: @escaping (String?) -> Void) {
        (self.environment, self.path, self.tell) = (environment, path, tell)
    }

    func begin() {
        // Each mount and unmount (`proc_pid_mountinfo(5)`).
        mounts = try? PrioritySource(Linux.open("/proc/self/mountinfo"), on: environment.core) { [weak self] _ in
            self?.remounted()
        }
        look()
    }

    func end() {
        isOver = true
        watch?.cancel()
        mounts?.cancel()
        (watch, mounts) = (nil, nil)
    }

    /// Other folders may stand on the way.
    private func remounted() {
        watch?.cancel()
        (watch, isBlind) = (nil, false)
        look()
    }

    /// A disk that does not answer keeps nobody but this.
    private func look() {
        guard !isOver else { return }
        guard !isLooking else {
            isDirty = true
            return
        }
        (isLooking, isDirty) = (true, false)
        environment.slow.submit("HoldUntil=path:\(path.printable)") { [bound, path, core = environment.core] in
            let error: SystemError?
            do throws(SystemError) {
                _ = try Linux.stat(path)
                error = nil
            } catch let found {
                error = found
            }
            let isSilent = FileSystemType.nearest(to: path)?.silentName != nil
            core.async { bound.value.looked(error, isSilent: isSilent) }
        }
    }

    private func looked(_ error: SystemError?, isSilent: Bool) {
        isLooking = false
        guard !isOver else { return }
        // A change from here on is told; one before is seen at the next look.
        let isNew = watch == nil && !isBlind
        if isNew { listen() }
        if isSilent { isBlind = true }
        tell(error.map { $0.errno == .noSuchFile || $0.errno == .notFolder ? "nothing is there" : "\($0.errno)" })
        if isNew || isDirty { return look() }
        guard isBlind, !isPlanned else { return }
        isPlanned = true
        environment.core.after(Self.interval) { [bound] in
            bound.value.isPlanned = false
            bound.value.look()
        }
    }

    private func listen() {
        do throws(SystemError) {
            let failed: (SystemError) -> Void = { [weak self] _ in self?.isBlind = true }
            watch = try LinkWatch(path, on: environment.core, failed: failed) { [weak self] in self?.look() }
        } catch {
            isBlind = true
        }
    }
}
