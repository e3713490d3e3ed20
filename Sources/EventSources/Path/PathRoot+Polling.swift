import LinuxSystem

/// Comparing again and again, where the kernel does not tell of every change, or no watch can be had: `Poll=`.
///
/// A round is a listing beside the core, which looks at the path itself as well: a file system that hangs holds up its
/// source alone.
extension PathRoot {
    /// Microseconds to the first try where no watch could be had: often one can be had soon.
    private static let firstTry = 1_000_000

    /// Its changes are found by comparing alone.
    var isUnwatched: Bool { owner.polls || blindness != nil }

    /// Why less is seen than there may be, by the type of its file system: a sentence.
    var silence: String? {
        guard !owner.polls, let name = look?.fileSystem?.silentName else { return nil }
        return
            "\(path.printable) compared every \(owner.pollSpan): on \(name) the kernel does not tell of every change"
    }

    /// It is looked at by lanes alone, as far as that goes.
    var mayHang: Bool { isUnwatched || silence != nil }

    func planPolling() {
        if isUnwatched || silence != nil || linkFailure != nil {
            polling.start(every: owner.pollInterval, first: blindness == nil ? nil : Self.firstTry)
        } else {
            polling.stop()
        }
    }

    func poll() {
        // One that goes on may hang.
        if !isOver, !isListing { list() }
    }

    /// A limit leaves it without a watch.
    func goBlind(_ error: SystemError) {
        if blindness == nil { owner.lostWatch() }
        blindness = error
        stopFolder()
        planPolling()
    }

    /// Takes a lane's look at the path. False: it is not what is watched there, which is watched and listed anew.
    func take(_ look: PathLook) -> Bool {
        self.look = look
        planPolling()
        if isUnwatched {
            take(look.status)
            return true
        }
        if silence == nil || look.isSame(as: watched) { return true }
        rearm()
        return false
    }

    /// Watches can be had again, perhaps: everything is compared once more then.
    func tryToWatch() {
        guard blindness != nil, !owner.polls else { return }
        do throws(SystemError) {
            try watch()
            if blindness == nil { isDirty = true }
        } catch {
            owner.failed(error)
        }
    }
}
