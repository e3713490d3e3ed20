/// The state of a path: as much as shows later whether it has changed since.
package struct PathState: Hashable, Sendable {
    package enum Kind: UInt8, Sendable {
        case nothing = 0
        case folder = 1
        /// Anything else.
        case file = 2
    }

    package var kind: Kind
    package var inode: UInt64 = 0
    /// Bytes.
    package var size: Int64 = 0
    /// Nanoseconds since the epoch.
    package var modified: Int64 = 0
    /// Nanoseconds since the epoch; the last change of the inode.
    package var changed: Int64 = 0
    package var permissions: UInt32 = 0
    package var userID: UInt32 = 0
    package var groupID: UInt32 = 0
    package var links: UInt64 = 0
    /// Taken so soon after the last change that another one may have left the same times.
    package var isFresh = false

    package init(_ kind: Kind) { self.kind = kind }

    package static let nothing = PathState(.nothing)

    /// Some handlers were told that something stands there, and others are still to be. A comparison tells such a path as
    /// new if it exists, and as deleted if not.
    package static func told(_ kind: Kind) -> PathState {
        var state = PathState(kind)
        (state.inode, state.size) = (1, -2)
        return state
    }

    package var isTold: Bool { inode == 1 && size == -2 }
}

/// A path as it stood when it was told.
package struct PathMoment: Hashable, Sendable {
    /// The watched path it was found below.
    package var root: [UInt8]
    package var path: [UInt8]
    package var state: PathState

    package init(root: [UInt8], path: [UInt8], state: PathState) {
        self.root = root
        self.path = path
        self.state = state
    }
}

/// By which a watched path is known again: another file system may be mounted there, or none.
package struct RootIdentity: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    /// When it was made, in nanoseconds since the epoch; 0: the file system does not know.
    package var born: Int64

    package init(device: UInt64, inode: UInt64, born: Int64) {
        (self.device, self.inode, self.born) = (device, inode, born)
    }

    /// Nothing stands there.
    package static let missing = RootIdentity(device: 0, inode: 0, born: 0)

    /// Whether it is the same folder, on a file system that was away meanwhile: numbers of devices are given anew then,
    /// and those of files on some file systems.
    package func isSameAfterMount(as other: RootIdentity) -> Bool {
        guard born != 0, other.born != 0 else { return device == other.device }
        return born == other.born && (inode == other.inode || device == other.device)
    }

    /// Whether it stands on the same file system: under the same number, or it is the same folder under another one, as
    /// numbers are given anew at each boot.
    package func isOnSameFileSystem(as other: RootIdentity) -> Bool {
        device == other.device || (inode == other.inode && born == other.born && born != 0)
    }
}

/// The part of the tree below the root that a snapshot covers: paths that a change of the watch file newly lets in are
/// no news.
package struct SnapshotScope: Hashable, Sendable {
    /// Everything; else what stands directly in the root.
    package var isRecursive = false
    /// `Prune=`, as `PathGlob` writes it.
    package var prune: [String] = []
    /// `FollowSymlinks=`, of everything.
    package var followsLinks = false
    /// The globs of `Path=`, as `PathPattern` writes them; empty: everything below the root.
    package var patterns: [String] = []
    /// `Recursive=`, where there are patterns.
    package var isDeepInPatterns = false

    package init(
        isRecursive: Bool = false, prune: [String] = [], followsLinks: Bool = false, patterns: [String] = [],
        isDeepInPatterns: Bool = false
    ) {
        (self.isRecursive, self.prune, self.followsLinks) = (isRecursive, prune, followsLinks)
        (self.patterns, self.isDeepInPatterns) = (patterns, isDeepInPatterns)
    }
}

/// The root of a complete snapshot.
package struct SnapshotRoot: Hashable, Sendable {
    /// As it stood when it was compared last.
    package var identity: RootIdentity
    package var scope: SnapshotScope
    /// The other file that stood at the root when watchd was started last.
    package var instead: RootIdentity?
    /// Starts of watchd since some source has asked for it last.
    package var startsWithout = 0

    package init(_ identity: RootIdentity, scope: SnapshotScope = SnapshotScope(), instead: RootIdentity? = nil) {
        (self.identity, self.scope, self.instead) = (identity, scope, instead)
    }
}
