import Engine
import LinuxSystem
import Schedule
import WatchFile

/// `PathExists=`, `PathExistsGlob=`, `DirectoryNotEmpty=`: conditions that fire while they hold.
///
/// Watches, looks, and looks again when something was newly watched, so that nothing is missed. A condition that holds
/// is told once; when all operations made of it have ended it is looked at again. A run that succeeded and changed
/// something is followed by the next one at once, any other by a pause that doubles, unless somebody else changes
/// something meanwhile. Confined to its context.
final class LevelWatch: FolderObserver {
    let levels: PathLevels
    private let id: SourceID
    private let environment: SourceEnvironment
    /// Which lets go of it when it is closed.
    private let owner: PathSource
    private var watches: [LevelView.Place: Watch] = [:]
    private var state = State.idle
    /// The state that it was told of last, or that the last run left.
    private var seen: LevelView?
    /// Of what was told: the events that operations are still made of, and whether one of these has failed.
    private var told = (outstanding: 0, hasFailed: false)
    private var unchanged = 0
    private var retry: Retry
    private var poll: Retry
    /// `Poll=` and `PollSec=`
    let polling: PathTrigger.Polling
    /// Why less is seen than there may be: a sentence.
    private(set) var limit: String?
    /// A folder is not watched for want of something.
    private(set) var isBlind = false
    /// A folder may not be read.
    private(set) var isUnread = false
    private var isLooking = false
    /// Something has happened since the look began.
    private var isDirty = false
    private var isClosed = false
    /// Where it stands, when it is not just armed.
    private(set) var condition: SourceCondition?

    private struct Watch {
        let number: Int32
        /// As it was seen before it was watched.
        let folder: LevelView.Folder?
    }

    private enum State {
        /// It does not hold.
        case idle
        /// It was told, and what was made of it has not ended.
        case told
        case ended(hasFailed: Bool)
        /// A run has left it as it was.
        case backingOff
        /// The pause is over.
        case dueAgain
    }

    init(_ levels: PathLevels, id: SourceID, environment: SourceEnvironment, owner: PathSource) {
        self.levels = levels
        self.id = id
        self.environment = environment
        self.owner = owner
        retry = Self.retry(levels)
        polling = owner.polling
        poll = Retry(first: owner.pollInterval, longest: owner.pollInterval)
    }

    private static func retry(_ levels: PathLevels) -> Retry {
        Retry(
            first: Int(clamping: levels.pause.microseconds),
            longest: Int(clamping: min(levels.longestPause.microseconds, UInt64(Int.max / 4))))
    }

    var watchNumbers: Set<Int32> { Set(watches.values.map(\.number)) }

    func close() {
        isClosed = true
        retry.cancel()
        poll.cancel()
        for place in watches.keys { unwatch(place) }
    }

    /// A told condition is looked at when all operations made of it have ended.
    func observe(_ event: FolderEvent) {
        if case .told = state, !isLooking { return }
        look()
    }

    // MARK: Looking

    func look() {
        guard !isClosed else { return }
        guard !isLooking else {
            isDirty = true
            return
        }
        isLooking = true
        isDirty = false
        owner.beside { [conditions = levels.conditions] () throws(SystemError) in
            try LevelView(conditions)
        } then: { [weak self] result in
            self?.looked(result)
        }
    }

    private func looked(_ result: Swift.Result<LevelView, SystemError>) {
        isLooking = false
        guard !isClosed else { return }
        switch result {
        case .failure(let error):
            poll.schedule(on: environment.core) { [weak self] in self?.look() }
            tell(poll.condition(error.reason))
        case .success(let view):
            let isArmed = watch(view)
            if isDirty || !isArmed { return look() }
            decide(view)
        }
    }

    /// False: something was newly watched, and may have changed before.
    private func watch(_ view: LevelView) -> Bool {
        let places = polling.isAlways ? [] : view.places
        for (place, watch) in watches where !places.contains(place) || watch.folder != view.folders[place.folder] {
            unwatch(place)
        }
        var isNew = false
        var limit = polling.isAlways ? nil : view.silence
        (isBlind, isUnread) = (false, false)
        for place in places where watches[place] == nil {
            do throws(SystemError) {
                let mask: InotifyMask = [
                    .created, .movedTo, .movedFrom, .deleted, .attributes, .closedAfterWriting, .selfDeleted,
                    .selfMoved,
                    .unmounted,
                ]
                let number = try environment.inotify.watch(place.folder, mask, name: place.name, for: self)
                watches[place] = Watch(number: number, folder: view.folders[place.folder])
                isNew = true
            } catch  where error.errno == .noSuchFile || error.errno == .notFolder {
                // A path that is missing here is noticed in the folder above.
            } catch {
                limit = error.reason
                isBlind = isBlind || error.leavesUnwatched
                isUnread = isUnread || !error.leavesUnwatched
            }
        }
        if polling.isAlways || limit != nil {
            poll.schedule(id, levels.conditions.map(\.path), environment) { [weak self] in self?.look() }
        }
        limit = limit.map { "looked at every \(owner.pollSpan): \($0)" }
        if limit != self.limit {
            self.limit = limit
            owner.rootChanged()
        }
        return !isNew
    }

    private func unwatch(_ place: LevelView.Place) {
        guard let watch = watches.removeValue(forKey: place) else { return }
        environment.inotify.unwatch(watch.number, name: place.name, for: self)
    }

    // MARK: Deciding

    private func decide(_ view: LevelView) {
        if case .told = state { return }
        guard !view.matches.isEmpty else { return rest() }
        switch state {
        case .told: break
        case .backingOff where view.isSame(as: seen): break
        case .ended(let hasFailed) where hasFailed || view.isSame(as: seen):
            unchanged += 1
            seen = view
            state = .backingOff
            retry.schedule(on: environment.core) { [weak self] in self?.pauseIsOver() }
            tell(retry.unchanged(after: unchanged))
        case .idle, .ended, .backingOff:
            begin()
            fire(view)
        case .dueAgain: fire(view)
        }
    }

    private func pauseIsOver() {
        guard case .backingOff = state else { return }
        state = .dueAgain
        look()
    }

    /// It does not hold, or no longer.
    private func rest() {
        begin()
        state = .idle
        seen = nil
    }

    /// The next pause is the first.
    private func begin() {
        unchanged = 0
        retry.cancel()
        retry = Self.retry(levels)
        tell(nil)
    }

    private func fire(_ view: LevelView) {
        guard !owner.isHeld else { return }
        seen = view
        state = .told
        if unchanged == 0 { tell(nil) }
        told = (view.matches.count, false)
        for path in view.matches {
            var fact = PathFact(.written, path: path, root: path)
            fact.handover = environment.handovers.add { [weak self] in self?.ended(hasFailed: $0) }
            environment.send(.event(id, .path(fact)))
        }
    }

    private func ended(hasFailed: Bool) {
        guard !isClosed, case .told = state else { return }
        told = (told.outstanding - 1, told.hasFailed || hasFailed)
        guard told.outstanding == 0 else { return }
        state = .ended(hasFailed: told.hasFailed)
        look()
    }

    private func tell(_ condition: SourceCondition?) {
        guard condition != self.condition else { return }
        self.condition = condition
        owner.rootChanged()
    }
}
