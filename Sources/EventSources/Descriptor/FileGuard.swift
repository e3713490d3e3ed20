import LinuxSystem

/// Notices when a FIFO or socket file is taken away or replaced by something else. Confined to its context.
package final class FileGuard {
    private let path: [UInt8]
    private let lost: () -> Void
    private var anchor: PathAnchor?
    private var inode: (device: UInt64, inode: UInt64)?
    private let hub: InotifyHub
    /// Microseconds.
    private static let pause = 60_000_000
    private var isTryPlanned = false

    /// - Parameter lost: the file is another one, or none.
    package init(_ path: [UInt8], hub: InotifyHub, lost: @escaping () -> Void) {
        self.path = path
        self.lost = lost
        self.hub = hub
        anchor = PathAnchor(path, hub: hub) { [weak self] in self?.changed($0) }
    }

    var watchCount: Int { anchor?.watchCount ?? 0 }

    /// The file at the path now is to be kept in sight. Without inotify watches for it, it is looked at every minute
    /// until there are some.
    package func watch() {
        let status = try? Linux.lstat(path)
        inode = status.map { ($0.device, $0.inode) }
        if watchCount == 0 { arm() }
        check()
    }

    private func arm() {
        do throws(SystemError) {
            _ = try anchor?.arm([])
        } catch {
            anchor?.disarm()
            armLater()
        }
    }

    private func armLater() {
        guard !isTryPlanned else { return }
        isTryPlanned = true
        hub.after(Self.pause) { [weak self] in
            self?.isTryPlanned = false
            self?.arm()
            self?.check()
        }
    }

    func close() {
        anchor?.disarm()
        anchor = nil
    }

    private func changed(_ change: PathAnchor.Change) {
        switch change {
        case .entry: break
        case .moved, .overflowed: arm()
        }
        check()
    }

    private func check() {
        guard let inode else { return }
        let status = try? Linux.lstat(path)
        guard status?.device != inode.device || status?.inode != inode.inode else { return }
        self.inode = nil
        lost()
    }
}
