/// Kinds of messages: the `MESSAGE_ID` of a journal entry, by which `journalctl MESSAGE_ID=…` finds all of a kind and
/// `journalctl -x` explains it (`watchd.catalog`). An id never changes its meaning.
package enum MessageID: String, CaseIterable, Sendable {
    case ready = "42bd431f6bf749b7a5c85e22b5366fce"
    case stopping = "07cc269c5d144dd594b8d51783bf7a3e"
    case stopped = "d89c2e044565431cbe8cfded5120e5b5"
    case reloaded = "df5a6eb53b684aadb78fcacc902f4abc"
    case reloadRefused = "06d5181c22944680952d7f0bbfc1c517"
    /// The running configuration is not the one in the watch files.
    case lastConfiguration = "d4e36dbbcc6441038416e39fd3aedca4"

    case operationDone = "2878e47e116a42f7935dd2f16c5e10da"
    case operationFailed = "f279cdeed4774a09be4386057c674cd6"
    /// Another attempt comes.
    case attemptFailed = "ff99ec57b69042fdb59d574576e19a91"
    case operationCancelled = "8efe77123e6644e2bebba58cf6ee6a6a"
    case operationSkipped = "6817a4137f7a4533b73a1b806dc863d4"
    case operationDropped = "17507e8d1b0842889754b3a9ac7f0930"
    case operationSuperseded = "cea4b9922f854dcdaabe356c3e7e7d68"
    case operationAnnulled = "20cb9a032a8e42a4a84b00c1fe63be52"
    /// It ended before it became an operation.
    case deliveryRefused = "7d1448c8ed684508bc926b1c9e32f128"
    /// It may have run before a crash, and runs again.
    case operationRedelivered = "fbb5df1cd8744757a9d161a1fcc43bd1"
    /// Its process was found running at the start.
    case handlerAdopted = "042182e2b80f4130b167342bb8cd0c69"

    case sourceFailed = "92acdb0a39e64fce919a75948fe1be46"
    case sourceArmedAgain = "26ca389994af42f2b05223ae535c3178"
    case storeFailing = "6c68acc4257746fd87bf77e491e21cae"
    case storeWorking = "6e0999b7568a436592824ec275348d30"
}
