package import LinuxSystem

/// Tells when another file may stand under a path: when its name, or that of a symbolic link on the way to it, is made,
/// replaced, written or removed (`inotify(7)`). A path that is not there is waited for in the nearest folder that is.
/// Confined to its context.
package final class LinkWatch {
    /// The places that can make the path lead elsewhere: a name, in a folder whose path has no links.
    struct Place: Hashable {
        var folder: [UInt8]
        var name: [UInt8]

        var path: [UInt8] { folder.count == 1 ? folder + name : folder + [UInt8(ascii: "/")] + name }
    }

    private static let mask: InotifyMask = [
        .created, .movedTo, .movedFrom, .deleted, .closedAfterWriting, .selfMoved, .selfDeleted, .onlyFolders,
    ]
    /// Links of one path, as for the kernel (`path_resolution(7)`).
    private static let linkLimit = 40
    /// Looks at a path that changes all the while.
    static let looks = 8

    private let path: [UInt8]
    private let failed: (SystemError) -> Void
    private var source: ReadSource?
    /// The names of interest in each folder that is watched.
    private var names: [Int32: Set<[UInt8]>] = [:]
    private var failure: SystemError?

    /// - Parameters:
    ///   - path: absolute.
    ///   - failed: told, also before this returns, of what cannot be watched; the rest is.
    ///   - handler: called on the context, once for all that has happened.
    package convenience init(
        _ path: String, on context: Context, failed: @escaping (SystemError) -> Void, handler: @escaping () -> Void
    ) throws(SystemError) {
        try self.init(Array(path.utf8), on: context, failed: failed, handler: handler)
    }

    /// As above, of a path of any bytes.
    package init(
        _ path: [UInt8], on context: Context, failed: @escaping (SystemError) -> Void, handler: @escaping () -> Void
    ) throws(SystemError) {
        self.path = path
        self.failed = failed
        let inotify = try Linux.inotifyCreate()
        let descriptor = inotify.rawValue
        source = ReadSource(inotify, on: context) { [weak self] in
            let events = (try? Linux.inotifyRead(descriptor)) ?? []
            guard let self, events.contains(where: isOfInterest) else { return }
            watch(descriptor)
            handler()
        }
        watch(descriptor)
    }

    package func cancel() {
        source?.cancel()
        source = nil
    }

    private func isOfInterest(_ event: InotifyEvent) -> Bool {
        if event.mask.contains(.overflowed) { return true }
        guard let names = names[event.watch] else { return false }
        // Without a name it is of the folder itself.
        return event.name.isEmpty || names.contains(event.name)
    }

    /// Until the path leads through the same places after they are watched as before: nothing is missed between.
    private func watch(_ inotify: Int32) {
        var places = Self.places(path)
        for _ in 0..<Self.looks {
            watch(places, inotify)
            let now = Self.places(path)
            if now == places { return }
            places = now
        }
    }

    private func watch(_ places: [Place], _ inotify: Int32) {
        var (new, failure): ([Int32: Set<[UInt8]>], SystemError?) = ([:], nil)
        for place in places {
            do throws(SystemError) {
                new[try Linux.inotifyAdd(inotify, place.folder, Self.mask), default: []].insert(place.name)
            } catch {
                // One that is gone by now is seen at the next look.
                if ![.noSuchFile, .notFolder].contains(error.errno) { failure = error }
            }
        }
        for watch in names.keys where new[watch] == nil { try? Linux.inotifyRemove(inotify, watch: watch) }
        names = new
        if let failure, failure != self.failure { failed(failure) }
        self.failure = failure
    }

    /// The links on the way, and the end of it: the file, or the first name that is not there.
    static func places(_ path: [UInt8]) -> [Place] {
        let slash = UInt8(ascii: "/")
        var places: [Place] = []
        var folder: [UInt8] = []
        var rest = Array(path.split(separator: slash).reversed())
        while let name = rest.popLast() {
            if name.elementsEqual(".".utf8) { continue }
            if name.elementsEqual("..".utf8) {
                folder = Array(folder.prefix(upTo: folder.lastIndex(of: slash) ?? 0))
                continue
            }
            let full = folder + [slash] + name
            let isFolder = (try? Linux.lstat(full))?.kind == .folder
            if isFolder, !rest.isEmpty {
                folder = full
                continue
            }
            places.append(Place(folder: folder.isEmpty ? [slash] : folder, name: Array(name)))
            guard let target = try? Linux.readlink(full), places.count <= linkLimit else { break }
            if target.first == slash { folder = [] }
            rest += target.split(separator: slash).reversed()
        }
        return places
    }
}
