import Engine
import LinuxSystem
import WatchFile

/// Where it goes on when another file has come in the place of the one that is open, or that one has gone.
extension TailSource {
    /// - Parameter isRead: the file that is open was read to its end; else it has gone, or begins differently.
    func search(after position: TailPosition, isRead: Bool) {
        (isSearching, isLookDue) = (true, false)
        let bound = QueueBound(self, to: environment.core)
        let (known, read) = (rotated?.places ?? [], rotated?.readFiles ?? [])
        environment.slow.submit(id.description, inOrder: true) { [core = environment.core, path] in
            let result = Swift.Result { () throws(SystemError) in
                try TailRotation(of: path, after: position, isRead: isRead, known: known, read: read)
            }
            core.async { bound.value.found(result, after: position, isRead: isRead) }
        }
    }

    private func found(
        _ result: Swift.Result<TailRotation, SystemError>, after position: TailPosition, isRead: Bool
    ) {
        isSearching = false
        // A finding may not be true any more when the source is let go.
        searched = isHeld ? nil : searched
        guard anchor != nil, !isHeld else { return }
        defer { if isLookDue { later() } }
        do throws(SystemError) {
            let rotation = try result.get()
            rotated?.follow(rotation.grown)
            let hasSuccessor = try successor()
            let isOver = rotation.next != nil || hasSuccessor
            if isRead, isOver, let file, waitsForLine(of: file) {
                searched = nil
                return restsHere()
            }
            // A writer that has it open may have written more meanwhile.
            if isRead, let file, case .facts(let facts) = try file.next(trigger, maker, isOver: isOver) {
                tell(facts)
                return later()
            }
            // The writer of the file that was read may do so still.
            if isRead, !isOver { return restsHere() }
            try goOn(rotation, position, isRead: isRead)
        } catch {
            failed(error)
        }
    }

    private func tellOfLoss(_ rotation: TailRotation, _ position: TailPosition) {
        for sentence in rotation.lost { lose(sentence) }
        arrivals.took(rotation.lost.count)
        guard rotation.isRestUnknown else { return }
        let sentence = "what was read up to byte \(position.offset) is gone"
        // Truncating a log that was read to its end loses nothing of it.
        if wasRead { return environment.log(id, Array("\(path.printable) begins again: \(sentence)".utf8)) }
        lose("\(sentence), and nothing beside it goes on there: what came behind that is lost, if there was anything")
    }

    /// The file at the path, if every event of it was told.
    var current: FileStatus? {
        let status = try? Linux.stat(path)
        return environment.inotify.isCaughtUp ? status : nil
    }

    func count() {
        guard !isCounted, let number = file?.number, (try? Linux.fstat(number))?.size != 0 else { return }
        isCounted = true
        arrivals.took()
    }

    /// Everything that is there is being read: what else came has gone.
    func tellOfArrivals() {
        count()
        let lost = arrivals.lost()
        if lost > 0 {
            let files = lost == 1 ? "a file that was written here was" : "\(lost) files that were written here were"
            lose("\(files) deleted or overwritten before \(lost == 1 ? "it" : "they") could be read", lost)
        }
        guard arrivals.isAhead else { return }
        let bound = QueueBound(self, to: environment.core)
        // After the events that are being told now.
        environment.core.async { bound.value.settle() }
    }

    func settle() {
        guard let current, file?.position.isOf(current) == true else { return }
        isCounted = true
        arrivals.settle()
    }

    func lose(_ sentence: String, _ count: Int = 1) {
        environment.send(.gap(id, count))
        environment.warn(id, "\(path.printable): \(sentence)")
    }

    /// To the next file, unless it was rotated once more meanwhile: then that is looked at again.
    private func goOn(
        _ rotation: TailRotation, _ position: TailPosition, isRead: Bool
    ) throws(SystemError) {
        if let next = rotation.next {
            guard let (opened, status) = try TailFile.open(next.path) else { return later() }
            guard next.position.isOf(status) else {
                FileDescriptor(owning: opened).close()
                return later()
            }
            take(TailFile(owning: opened, next.position), isRead: isRead)
            if let copy = rotation.copy, let (number, status) = try TailFile.open(copy.path) {
                let file = TailFile(owning: number, copy.position)
                // Else a later look would find it new.
                if copy.position.fitsLater(number, status) { rotated?.follow(file) } else { file.close() }
            }
        } else {
            guard let (opened, status) = try TailFile.open(path) else {
                if isRead { return later() }
                closeFile()
                return later()
            }
            guard rotation.current.map(TailPosition(of: status).isOf) == true else {
                FileDescriptor(owning: opened).close()
                return later()
            }
            let known = rotated?.takeBack(opened, status)
            take(TailFile(owning: opened, known ?? TailPosition(beginningOf: opened, status)), isRead: isRead)
        }
        tellOfLoss(rotation, position)
        tell([])
        later()
    }
}
