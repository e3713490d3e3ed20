import LinuxSystem

/// Tells what happens to an open file itself, by whichever name, as long as this is there. Confined to its context.
final class FileWatch: FolderObserver {
    let mask: InotifyMask
    private let hub: InotifyHub
    private let handler: (FolderEvent.Change) -> Void
    private(set) var watch: Int32?

    /// Fails where a watch cannot be had.
    init?(
        _ file: Int32, _ mask: InotifyMask, hub: InotifyHub, handler: @escaping (FolderEvent.Change) -> Void
    ) {
        self.mask = mask
        self.hub = hub
        self.handler = handler
        do throws(SystemError) { watch = try hub.watch(file: file, mask, for: self) } catch { return nil }
    }

    func cancel() {
        if let watch { hub.unwatch(watch, for: self) }
        watch = nil
    }

    func observe(_ event: FolderEvent) { handler(event.change) }
}
