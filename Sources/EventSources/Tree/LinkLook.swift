import LinuxSystem

/// A symbolic link in a tree whose links are followed, as it stood when it was looked at.
///
/// It stands for what it leads to. It stands for itself where that is nothing, or where following it would have no end
/// or no use (`Refusal`). Every path without an end leads twice through the same link, and the second time that link
/// leads to a folder on the way to it: so it is enough that no link to such a folder, or to one above it, is followed.
/// A look may take long: it is made beside the core.
struct LinkLook: Sendable {
    /// Why a link stands for itself although it leads somewhere.
    enum Refusal: Equatable, Sendable {
        /// It leads to a folder on the way to it, or above one.
        case cycle
        /// To files that watchd writes itself.
        case own
        /// To what the kernel makes as it is read: of a file neither times nor numbers say anything, and folders of
        /// processes lead everywhere (`proc(5)`).
        case generated
        /// Too many links lead to it, one behind the other.
        case tooDeep
        /// Too many links are followed.
        case tooMany
        /// Too many files and folders are seen through links.
        case tooLarge
        /// Nobody knows where it leads.
        case failed(SystemError)

        /// Of one that is not meant to be: a sentence.
        var reason: String? {
            switch self {
            case .cycle, .own, .generated: nil
            case .tooDeep: "more than \(LinkLook.depth) links lead there, one behind the other"
            case .tooMany: "more than \(TreeLinks.limit) links"
            case .tooLarge: "more than \(TreeLinks.fileLimit) files and folders are seen through links"
            case .failed(let error): error.reason
            }
        }
    }

    /// Links that lead to a folder, one behind the other.
    static let depth = 8
    private static let slash = UInt8(ascii: "/")

    /// The status of the link itself.
    let own: FileStatus
    /// Its path without links on the way: those have a look of their own.
    private(set) var place: [UInt8] = []
    /// Of what it leads to; `nil`: it stands for itself.
    private(set) var end: FileStatus?
    /// The path of that, without links.
    private(set) var real: [UInt8]?
    private(set) var refusal: Refusal?
    /// The end of the link is on a file system where the kernel does not tell of every change.
    private(set) var isSilent = false
    /// The watches of where it leads; `nil`: they were not asked for.
    private(set) var ways: LinkWays?

    /// The status of the end of the link, or of the link where it stands for itself.
    var status: FileStatus { end ?? own }

    /// - Parameters:
    ///   - own: the status of the link itself.
    ///   - way: to the folder it stands in.
    ///   - ownPaths: files and folders that watchd writes, without links.
    init(_ name: [UInt8], _ own: FileStatus, _ way: LinkWay, ownPaths: [[UInt8]]) {
        self.own = own
        place = LinkWay.joined(way.folder, name)
        do throws(SystemError) {
            let end = try Linux.statusOfAny(place, follows: true)
            let real = try Linux.realPath(place)
            let type = try? FileSystemType(of: real)
            refusal = Self.refusal(end, real, type, way, ownPaths)
            guard refusal == nil else { return }
            (self.end, self.real, isSilent) = (end, real, type?.silentName != nil)
        } catch {
            if !error.isOfNothing { refusal = .failed(error) }
        }
    }

    /// One that is not followed.
    init(_ own: FileStatus, refusal: Refusal) { (self.own, self.refusal) = (own, refusal) }

    /// The link at a path; `nil`: none stands there.
    ///
    /// - Parameter way: of the one before, and of this one.
    static func at(_ path: [UInt8], below root: [UInt8], ownPaths: [[UInt8]], _ way: inout LinkWay?) -> LinkLook? {
        guard let own = try? Linux.statusOfAny(path), own.kind == .symbolicLink else { return nil }
        let end = path.lastIndex(of: slash) ?? 0
        let folder = end == 0 ? [slash] : Array(path[..<end])
        let here = way?.path == folder ? way ?? LinkWay(to: folder, below: root) : LinkWay(to: folder, below: root)
        way = here
        return LinkLook(Array(path[(end + 1)...]), own, here, ownPaths: ownPaths)
    }

    /// The link as it is looked at when it is watched where it leads.
    ///
    /// - Parameter mask: what happens to the end, besides its coming and going.
    func watched(_ mask: InotifyMask, _ adder: WatchAdder) -> LinkLook {
        var look = self
        look.ways = LinkWays(place, mask, adder)
        return look
    }

    /// The link, which is not followed.
    func refused(_ refusal: Refusal) -> LinkLook { LinkLook(own, refusal: refusal) }

    private static func refusal(
        _ end: FileStatus, _ real: [UInt8], _ type: FileSystemType?, _ way: LinkWay, _ ownPaths: [[UInt8]]
    ) -> Refusal? {
        if ownPaths.contains(where: { real.isAtOrBelow($0) }) { return .own }
        if type?.isGenerated == true { return .generated }
        guard end.kind == .folder else { return nil }
        if real.count == 1 || (way.links + [way.folder]).contains(where: { $0.isAtOrBelow(real) }) { return .cycle }
        return way.links.count < depth ? nil : .tooDeep
    }
}

/// A link on the way to a path that stands for itself, although links are followed.
package struct RefusedLink: Sendable {
    package let path: [UInt8]
    /// A sentence.
    package let reason: String

    /// The first on the way; `nil`: there is none. May take long.
    ///
    /// - Parameters:
    ///   - links: those on the way, the first one first.
    ///   - ownPaths: files and folders that watchd writes, without links.
    package init?(among links: [[UInt8]], below root: [UInt8], ownPaths: [[UInt8]]) {
        var way: LinkWay?
        for link in links where link != root && link.isAtOrBelow(root) {
            guard let refusal = LinkLook.at(link, below: root, ownPaths: ownPaths, &way)?.refusal else { continue }
            path = link
            switch refusal {
            case .cycle: reason = "it leads to a folder on the way to it, or above one"
            case .own: reason = "it leads to what watchd writes itself"
            case .generated: reason = "it leads to what the kernel makes as it is read"
            case .tooDeep, .tooMany, .tooLarge, .failed: reason = refusal.reason ?? "it leads nowhere"
            }
            return
        }
        return nil
    }
}

/// The way from a root to a folder, through links perhaps.
struct LinkWay: Sendable {
    private static let slash = UInt8(ascii: "/")

    /// Of the folder, by the names in the tree.
    let path: [UInt8]
    /// The folder by its path without links.
    private(set) var folder: [UInt8]
    /// Folders in which links on the way stand, without links.
    private(set) var links: [[UInt8]] = []

    /// May take long.
    init(to path: [UInt8], below root: [UInt8]) {
        self.path = path
        folder = (try? Linux.realPath(root)) ?? root
        for name in path.dropFirst(root.count).split(separator: Self.slash) {
            let next = Self.joined(folder, Array(name))
            let isLink = (try? Linux.statusOfAny(next))?.kind == .symbolicLink
            if isLink { links.append(folder) }
            folder = isLink ? (try? Linux.realPath(next)) ?? next : next
        }
    }

    static func joined(_ folder: [UInt8], _ name: [UInt8]) -> [UInt8] {
        folder + (folder.last == slash ? [] : [slash]) + name
    }
}
