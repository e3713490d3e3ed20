package import Varlink

/// The interface `io.watchd.Manager`.
package enum Manager {
    package static let name = "io.watchd.Manager"
    /// Of watchd and watchctl, which are one package.
    package static let softwareVersion = "0.1.0"

    package static let methods: [any ControlMethod.Type] = [
        GetStatus.self, ListSources.self, ListQueues.self, ListSemaphores.self, ListHandlers.self, ListOperations.self,
        ListNames.self, ListHistory.self, GetOperation.self, GetOutput.self, Explain.self, Emit.self, EmitAll.self,
        Run.self, Submit.self,
        Suspend.self, Resume.self, Signal.self,
        Drain.self, Acquire.self, SetPriority.self,
        EnterGroup.self, LeaveGroup.self, Cancel.self, Retry.self, Forget.self, Wait.self, Reload.self, Stop.self,
        Start.self, StopProcess.self, Restart.self, Follow.self,
    ]

    /// The interface that `Varlink.Service` serves.
    package static let interface = Interface(
        name: name,
        methods: Dictionary(uniqueKeysWithValues: methods.map { ($0.name, $0.style) }),
        description: description)

    /// Items of a list in one reply, and the most that a `limit` can ask for.
    package static let maximumPage = 1000
    /// Failed operations that one `Retry` of a handler takes.
    package static let maximumRetried = 50
    /// Event objects in the reply of `GetOperation`.
    package static let maximumEventsShown = 1000
    /// Operations, semaphores or groups in each list of `GetStatus`.
    package static let maximumShownInStatus = 20
}
