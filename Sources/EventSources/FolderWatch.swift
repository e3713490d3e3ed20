package import LinuxSystem

/// Tells when one of some names in a folder is made, replaced, written or removed (`inotify(7)`). Confined to its
/// context.
package final class FolderWatch {
    private var source: ReadSource?

    /// Calls `handler` on the context, once for all that has happened.
    package init(
        _ folder: String, names: Set<String>, on context: Context, handler: @escaping () -> Void
    ) throws(SystemError) {
        let inotify = try Linux.inotifyCreate()
        let descriptor = inotify.rawValue
        do throws(SystemError) {
            _ = try Linux.inotifyAdd(
                descriptor, folder,
                [.created, .movedTo, .movedFrom, .deleted, .closedAfterWriting, .onlyFolders])
        } catch {
            inotify.close()
            throw error
        }
        let wanted = Set(names.map { Array($0.utf8) })
        source = ReadSource(inotify, on: context) {
            let events = (try? Linux.inotifyRead(descriptor)) ?? []
            if events.contains(where: { wanted.contains($0.name) || $0.mask.contains(.overflowed) }) { handler() }
        }
    }

    package func cancel() {
        source?.cancel()
        source = nil
    }
}
