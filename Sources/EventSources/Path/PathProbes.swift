package import LinuxSystem

/// Finds out on lanes whether paths answer, before the core touches them: one on a file system that hangs (NFS without
/// its server, FUSE without its daemon) would stop everything.
///
/// A path is asked folder by folder, so that of many below one mount that hangs, one stands still and the others are
/// not asked before it has answered. A path that hangs later, when a source is armed and looks at it, is not noticed
/// here. Confined to the core.
package final class PathProbes {
    /// Microseconds after which the others are asked beside what has not answered.
    private static let pause: Int64 = 100_000
    /// Microseconds after which it is looked whether something else is mounted where a path is silent.
    private static let remountPause = 5_000_000

    private let core: Context
    private let lanes: Lanes
    private let patience: Int64
    private let probe: @Sendable ([UInt8]) -> Void
    private let mounts: () -> MountTable
    private var walks: [Int: Walk] = [:]
    private var lastWalk = 0
    private var questions: [Question] = []
    /// Places that have not answered for a moment.
    private var stuck: [[UInt8]: Stuck] = [:]
    private var isLookPlanned = false
    private var isMountLookPlanned = false
    private var bound: QueueBound<PathProbes> { QueueBound(self, to: core) }

    /// Steps of a question on a lane.
    private struct Walk {
        let steps: ProbeSteps
        let question: Question
        /// Which of them has not answered for a moment.
        var stuckAt: [UInt8]?
        var isSilent = false
    }

    private final class Question {
        /// Walks that may answer yet.
        var walks = 0
        /// Paths that are asked when the stuck one has answered.
        var below: [[UInt8]: [[UInt8]]] = [:]
        let then: () -> Void

        init(_ then: @escaping () -> Void) { self.then = then }
    }

    private struct Stuck {
        var reason: String
        /// That it is on.
        var mount: Int?
        var isSilent = false
        var waiting: [Waiter] = []
    }

    private struct Waiter {
        let paths: [[UInt8]]
        let tell: (String) -> Void
        let then: () -> Void
    }

    /// - Parameters:
    ///   - patience: microseconds after which what has not answered is silent: nobody waits for it any longer.
    ///   - probe: returns when the path has answered; called on a lane.
    package init(
        core: Context, lanes: Lanes, patience: Int64 = 1_000_000,
        probe: @escaping @Sendable ([UInt8]) -> Void = { Linux.waitForAnswer(of: $0) },
        mounts: @escaping () -> MountTable = { .current }
    ) {
        self.core = core
        self.lanes = lanes
        self.patience = patience
        self.probe = probe
        self.mounts = mounts
    }

    /// Calls back when each of the paths (absolute) has answered or is silent; at once where there are none.
    package func ask(_ paths: [[UInt8]], then: @escaping () -> Void) {
        let question = Question(then)
        questions.append(question)
        walk(Self.steps(to: paths), for: question)
        settle(question)
    }

    /// Why the first of the paths that is known to be silent is: a sentence; `nil`: none is.
    package func silence(of paths: [[UInt8]]) -> String? { silent(paths).map(\.reason) }

    /// Calls back when all of the paths answer; before that, when one is silent, with a sentence that says so.
    func whenAnswered(_ paths: [[UInt8]], silent tell: @escaping (String) -> Void, then: @escaping () -> Void) {
        ask(paths) { [self] in goOn(Waiter(paths: paths, tell: tell, then: then)) }
    }

    private func goOn(_ waiter: Waiter) {
        guard let (place, reason) = silent(waiter.paths) else { return waiter.then() }
        waiter.tell(reason)
        stuck[place]?.waiting.append(waiter)
    }

    private func silent(_ paths: [[UInt8]]) -> (place: [UInt8], reason: String)? {
        if stuck.isEmpty { return nil }
        for path in paths {
            if let found = stuck.first(where: { $1.isSilent && path.isAtOrBelow($0) }) {
                return (found.key, found.value.reason)
            }
        }
        return nil
    }

    /// Every folder on the way, once, and then the paths themselves.
    private static func steps(to paths: [[UInt8]]) -> [[UInt8]] {
        var (steps, known): ([[UInt8]], Set<[UInt8]>) = ([], [])
        for path in paths {
            let ends = path.indices.dropFirst().filter { path[$0] == UInt8(ascii: "/") } + [path.endIndex]
            for step in ends.map({ Array(path[..<$0]) }) where known.insert(step).inserted { steps.append(step) }
        }
        return steps
    }

    // MARK: Walks

    /// But for what is below something that is stuck.
    private func walk(_ steps: [[UInt8]], for question: Question) {
        var free = steps
        if !stuck.isEmpty {
            free = steps.filter { step in
                guard let place = stuck.keys.first(where: step.isAtOrBelow) else { return true }
                question.below[place, default: []].append(step)
                return false
            }
        }
        guard !free.isEmpty else { return }
        lastWalk += 1
        question.walks += 1
        let (number, steps) = (lastWalk, ProbeSteps(free))
        walks[number] = Walk(steps: steps, question: question)
        lanes.submit(nil) { [core, bound, probe] in
            while let step = steps.next() { probe(step) }
            core.async { bound.value.finished(number) }
        }
        planLook()
    }

    private func finished(_ number: Int) {
        guard let walk = walks.removeValue(forKey: number) else { return }
        if !walk.isSilent { walk.question.walks -= 1 }
        if let place = walk.stuckAt { answered(place) }
        settle(walk.question)
    }

    private func answered(_ place: [UInt8]) {
        guard let gone = stuck.removeValue(forKey: place) else { return }
        for question in questions {
            guard let steps = question.below.removeValue(forKey: place) else { continue }
            walk(steps, for: question)
            settle(question)
        }
        // All at once: one thread is enough if it hangs again.
        ask(gone.waiting.flatMap(\.paths)) { [self] in for waiter in gone.waiting { goOn(waiter) } }
    }

    /// It is answered when only what is silent is left.
    private func settle(_ question: Question) {
        guard question.walks == 0, question.below.keys.allSatisfy({ stuck[$0]?.isSilent ?? true }),
            let index = questions.firstIndex(where: { $0 === question })
        else { return }
        questions.remove(at: index)
        question.then()
    }

    // MARK: Places that do not answer

    private func planLook() {
        guard !isLookPlanned, walks.values.contains(where: { !$0.isSilent }) else { return }
        isLookPlanned = true
        core.after(Int(Self.pause)) { [bound] in
            bound.value.isLookPlanned = false
            bound.value.look()
        }
    }

    private func look() {
        let now = Linux.now(.monotonic)
        for (number, walk) in walks where !walk.isSilent {
            guard let (step, since) = walk.steps.current else { continue }
            if now - since >= Self.pause { isStuck(number, at: step) }
            // Where watchd itself stood still, the lane tells its answer before the next look.
            if walk.stuckAt != nil, now - since >= patience { isSilent(number, at: step) }
        }
        while lanes.starving > 0, let (number, first) = untouched {
            // Nobody knows of it whether it hangs.
            isStuck(number, at: first, "\(first.printable) cannot be looked at: \(Lanes.hungLimit) others hang")
            isSilent(number, at: first)
        }
        for question in questions { settle(question) }
        planLook()
    }

    /// Of a walk that has no lane.
    private var untouched: (number: Int, first: [UInt8])? {
        for (number, walk) in walks where !walk.isSilent {
            if let first = walk.steps.untouched { return (number, first) }
        }
        return nil
    }

    /// A path that is not below it is asked on another lane.
    private func isStuck(_ number: Int, at place: [UInt8], _ reason: String? = nil) {
        guard walks[number]?.stuckAt == nil else { return }
        walks[number]?.stuckAt = place
        let reason = reason ?? "\(place.printable) does not answer (a hung file system?)"
        if stuck[place] == nil { stuck[place] = Stuck(reason: reason, mount: mounts().mount(of: place)) }
        for (other, walk) in walks {
            let left = walk.steps.takeLeft(below: other == number ? nil : place)
            self.walk(left, for: walk.question)
        }
    }

    private func isSilent(_ number: Int, at place: [UInt8]) {
        walks[number]?.isSilent = true
        walks[number]?.question.walks -= 1
        stuck[place]?.isSilent = true
        planMountLook()
    }

    /// A file system that was taken away from its place (`umount --lazy`) may never answer; the one that is there now
    /// is asked anew.
    private func planMountLook() {
        guard !isMountLookPlanned, !stuck.isEmpty else { return }
        isMountLookPlanned = true
        core.after(Self.remountPause) { [bound] in
            bound.value.isMountLookPlanned = false
            bound.value.lookAtMounts()
        }
    }

    private func lookAtMounts() {
        let now = mounts()
        for (place, silent) in stuck where silent.isSilent && now.mount(of: place) != silent.mount { answered(place) }
        planMountLook()
    }
}

extension [UInt8] {
    /// The folders that it leads through, from the outermost on.
    package var foldersAbove: [[UInt8]] {
        let slash = UInt8(ascii: "/")
        return count < 2 ? [] : [[slash]] + indices.dropFirst().filter { self[$0] == slash }.map { Array(self[..<$0]) }
    }

    /// Whether it is this path, or leads through it.
    package func isAtOrBelow(_ path: [UInt8]) -> Bool {
        starts(with: path) && (count == path.count || self[path.count] == UInt8(ascii: "/"))
    }
}
