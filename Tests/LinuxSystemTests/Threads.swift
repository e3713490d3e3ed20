import Glibc

/// Runs `body` on `count` threads at once, each with its number, and waits for all.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let threads = (0..<count).map { index in
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work { body(index) })
        let code = pthread_create(
            &thread, nil,
            { pointer in
                guard let pointer else { return nil }
                Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        precondition(code == 0, "pthread_create: \(code)")
        return thread
    }
    for thread in threads { pthread_join(thread, nil) }
}
