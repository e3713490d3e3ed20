import WatchFile

/// `IgnoreFile=` of a tree: what is applied, and what is not.
struct TreeIgnoring {
    var rules: IgnoreRules
    /// By the folder, below the root: why its ignore file is not applied.
    private(set) var failures: [[UInt8]: String] = [:]
    /// Folders whose ignore file takes too long for some path.
    private var slow: Set<[UInt8]> = []
    /// The rules before the first of the changes whose consequences are not all listed yet: what they ignored is no news.
    var before: IgnoreRules?
    /// What was changed after this (nanoseconds since the epoch) was changed when it was ignored no more.
    var since: Int64?
    var isRetryPlanned = false

    init(_ name: [UInt8]) { rules = IgnoreRules(name: name) }

    /// Takes over what stands in a folder now. False: it says the same as before.
    mutating func take(_ reading: IgnoreReading, of folder: [UInt8]) -> Bool {
        failures[folder] = reading.failure
        let old = rules
        rules[folder] = reading.file
        guard rules[folder] != old[folder] else { return false }
        slow.remove(folder)
        before = before ?? old
        return true
    }

    /// - Parameter isWhole: the folders that the path goes through may be ignored.
    mutating func ignores(_ path: [UInt8], isFolder: Bool, isWhole: Bool) -> Bool {
        let ruling =
            isWhole
            ? rules.firstRuling(on: path, isFolder: isFolder)?.ruling : rules.ruling(on: path, isFolder: isFolder)
        guard let ruling else { return false }
        if ruling.pattern == nil { slow.insert(ruling.folder) }
        return ruling.isIgnored
    }

    /// A folder of an ignore file that is not applied, or not always, and why; the first of them all.
    var trouble: (folder: [UInt8], reason: String, count: Int)? {
        let all = failures.merging(slow.map { ($0, Self.slowness) }) { failure, _ in failure }
        guard let first = all.min(by: { $0.key.lexicographicallyPrecedes($1.key) }) else { return nil }
        return (first.key, first.value, all.count)
    }

    private static let slowness = "its patterns take too long for some paths, which are told"

    /// Everything is listed once more.
    mutating func forgetBefore() { (before, since) = (nil, nil) }

    mutating func remove(below folder: [UInt8]) {
        rules.remove(below: folder)
        for key in failures.keys where IgnoreRules.isAtOrBelow(key, folder) { failures[key] = nil }
        slow = slow.filter { !IgnoreRules.isAtOrBelow($0, folder) }
    }
}
