import LinuxSystem
import WatchFile

/// A file that was rotated away after it was read, and how far it was.
struct RotatedPlace: Equatable {
    /// Where it stood when it was looked at last.
    var path: [UInt8]
    var position: TailPosition

    /// Where it stands now, there or under another name beside it; `nil`: nowhere. Lists a folder, which may block.
    func find() -> [UInt8]? {
        if goesOn(at: path) { return path }
        let folder = Array(path[...(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)])
        let entries = (try? Linux.readFolder(folder)) ?? []
        return entries.lazy.filter { $0.inode == position.inode }.map { folder + $0.name }.first(where: goesOn)
    }

    private func goesOn(at path: [UInt8]) -> Bool {
        guard let found = try? TailFile.open(path) else { return false }
        defer { FileDescriptor(owning: found.number).close() }
        return position.fitsLater(found.number, found.status)
    }
}

/// One of `RotatedFiles`. Open, it is watched itself, whatever its name and its folder are by now. Confined to its
/// context.
final class RotatedFile {
    private var file: TailFile?
    private var watch: FileWatch?
    /// Monotonic, microseconds.
    private(set) var stillSince = Linux.now(.monotonic)
    private(set) var place: RotatedPlace

    /// - Parameter file: open, to be closed with this; `nil`: only its place is kept.
    init(_ file: TailFile?, _ place: RotatedPlace, hub: InotifyHub, changed: @escaping () -> Void) {
        self.file = file
        self.place = place
        if let number = file?.number {
            // Without one it is looked at whenever something happens at the path of the log.
            watch = FileWatch(number, [.modified, .attributes, .selfMoved], hub: hub) { _ in changed() }
        }
    }

    var isOpen: Bool { file != nil }
    var watchCount: Int { watch == nil ? 0 : 1 }

    /// Deleted while it was open: nobody else can read it any more.
    var isDeleted: Bool { file?.number.flatMap { try? Linux.fstat($0) }?.links == 0 }

    /// As it is now, where it was read to its end.
    var readFile: FileStatus? {
        guard let file, let status = file.number.flatMap({ try? Linux.fstat($0) }) else { return nil }
        return status.size == file.position.offset ? status : nil
    }

    /// Whether it has another name than before.
    func hasMoved() -> Bool {
        guard let path = file?.path, path != place.path else { return false }
        place.path = path
        return true
    }

    /// - Parameter isOver: it is not followed any longer.
    func next(_ trigger: DescriptorTrigger, _ maker: LineMaker, isOver: Bool) throws(SystemError) -> TailFile.Reading {
        guard let file else { return .nothing }
        defer { place.position = file.position }
        let reading = try file.next(trigger, maker, isOver: isOver)
        if case .facts = reading { stillSince = Linux.now(.monotonic) }
        return reading
    }

    func close() {
        watch?.cancel()
        watch = nil
        file?.close()
        file = nil
    }
}
