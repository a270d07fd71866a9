/// What the documents' blocks stand in: the names that they use and don't declare.
enum CodeBlockSetting {
    static let imports = """
        import FunctionsHTTPClient
        import FunctionsMessaging
        import FunctionsRuntime
        import FunctionsTesting
        import Testing

        """

    static let names = """
        var request: CallableRequest<NoData> { fatalError() }
        var event: DocumentEvent<DocumentSnapshot> { fatalError() }
        var transaction: Transaction { fatalError() }
        var firestore: Firestore { fatalError() }
        var users: CollectionReference { fatalError() }
        var catalog: CollectionReference { fatalError() }
        let pushAccount = defineSecret("PUSH_ACCOUNT")
        var tester: FunctionsTester { fatalError() }
        var receipt: Receipt { fatalError() }
        var paid: PaidOrder { fatalError() }
        var order: Order { fatalError() }
        var item: Item { fatalError() }
        var products: [Item] { fatalError() }
        struct HelloFunctions: FunctionBundle { @FunctionsBuilder var functions: [Function] { onCall("a") { (request: CallableRequest<Int>) in 1 } } }
        struct User: Codable, Sendable { var name: String }
        struct Item: Codable, Sendable { var id = ""; var name: String; var price: Int }
        struct Order: Codable, Sendable { var id = ""; var price = 0; var total = 0; var documentID = "" }
        struct Receipt: Codable, Sendable { var order: String }
        struct PaidOrder: Codable, Sendable {}
        struct Seat: Codable, Sendable { var id: String }
        struct Cart: Codable, Sendable {}
        struct Weather: Codable, Sendable { var degrees: Double }
        struct Provider { func charge(_ amount: Int) async throws {} }
        var provider: Provider { Provider() }
        enum Purchase { struct Answer: Codable, Sendable {} }

        """

    /// For whole files, which declare most of what they use.
    static let fileNames: KeyValuePairs = [
        "struct Cart": ": Codable, Sendable {}",
        "struct Greeting": ": Codable, Sendable { var name: String }",
        "func charge": "(_ cart: Cart, key: String) async throws {}",
    ]
}
