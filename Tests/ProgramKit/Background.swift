import Glibc

/// A thread of its own, for what goes on while a test does something else.
package final class Background {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private var thread = pthread_t()
    private var hasJoined = false

    package init(_ body: @escaping @Sendable () -> Void) {
        let work = Unmanaged.passRetained(Work(body))
        let code = pthread_create(
            &thread, nil,
            { pointer in
                guard let pointer else { return nil }
                Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        precondition(code == 0, "pthread_create: \(code)")
    }

    deinit { join() }

    /// Waits for its end; the body has to see to it that there is one.
    package func join() {
        if !hasJoined { pthread_join(thread, nil) }
        hasJoined = true
    }

    /// Nobody waits for its end.
    package func detach() {
        pthread_detach(thread)
        hasJoined = true
    }
}
