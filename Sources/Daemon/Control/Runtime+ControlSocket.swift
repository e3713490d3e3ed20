import EventSources
import Handlers
import LinuxSystem
import WatchFile

/// The file of the control socket, by which clients find it.
extension Runtime {
    /// Microseconds until it is tried again to make it.
    private static let socketPause = 5_000_000

    /// Where somebody removes its file, clients would find nobody.
    func watch(_ listener: ControlListener) {
        guard listener.isOwn, let inotify else { return }
        socketGuard = FileGuard(listener.path, hub: inotify) { [unowned self] in remake(listener) }
        socketGuard?.watch()
    }

    private func remake(_ listener: ControlListener, isAgain: Bool = false) {
        guard !isStopping else { return }
        do {
            let former = try listener.remake()
            logger.log(.warning, "the control socket \(listener.path.printable) was removed; it is made again")
            control?.listen(on: listener.descriptor, insteadOf: former)
            manager.keep(listener)
            socketGuard?.watch()
        } catch {
            if !isAgain {
                logger.log(.err, "the control socket was removed and cannot be made again: \(error); trying again")
            }
            core.after(Self.socketPause) { [bound] in bound.value.remake(listener, isAgain: true) }
        }
    }
}
