import LinuxSystem
import WatchFile

/// One `Path=` of a path source: by itself, or with everything below it. Confined to its context.
protocol WatchedPath: AnyObject {
    var path: [UInt8] { get }
    /// It holds whatever is below it, at any depth.
    var isRecursive: Bool { get }
    /// inotify watches, but for those of the folders in it.
    var watches: Set<Int32> { get }
    /// Why less is seen than there may be: a sentence.
    var limit: String? { get }
    /// Why less is seen of one of its paths: a sentence.
    func limit(at path: [UInt8]) -> String?
    /// The limit that leaves it without a watch of its own.
    var blindness: SystemError? { get }
    /// `limit` says what of it cannot be read.
    var isUnread: Bool { get }
    /// It is not known yet what stands there.
    var isListing: Bool { get }
    /// Whether there may be changes that are not told yet.
    var isBehind: Bool { get }
    /// Whether something stands at the path.
    var exists: Bool { get }

    /// Watches, and compares what stands there with what stood there when it was last told.
    func arm() throws(SystemError)
    /// Goes on as the trigger says now. Where what was watched is watched still, nothing can have been missed.
    func rearm(for trigger: PathTrigger) throws(SystemError)
    func disarm()
    /// The source is not held any more: tells what was left over.
    func goOn()

    /// Compares what stands there, tells the differences, and then calls with how many of them are told later: when
    /// nobody writes the file any more.
    func compare(then: @escaping (Int) -> Void)

    /// Something was mounted or unmounted.
    ///
    /// - Parameters:
    ///   - isOver: at the path, above it, or directly in it.
    ///   - isAbove: above it.
    ///   - below: at these places below it.
    func mountsChanged(isOver: Bool, isAbove: Bool, below: [[UInt8]])

    /// The source is not armed before that is over.
    var isUnready: Bool { get }
    /// Handled changes are recorded.
    var isRecorded: Bool { get }
    /// Its comparison with the handled state: a sentence.
    var comparisonText: String? { get }
    /// `Initial=` may have changed.
    func initialChanged()
    /// The store could not be opened before: what it has is known now.
    func storeCame()
    /// The store has lost what it had.
    func storeAgain()
    /// Its told changes, for a source that goes on at its path in another way; `nil`: that is not known.
    func handOver() -> Handover?
    /// Goes on for another one, before it is armed.
    func take(over other: Handover)
}

extension WatchedPath {
    func limit(at path: [UInt8]) -> String? { limit }
    var blindness: SystemError? { nil }
}
