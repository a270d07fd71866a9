import FunctionsRuntime

/// The shop's backend: a purchase that takes a cart, stock and order in one transaction, and a catalog.
@main
struct ShopFunctions: FunctionBundle {
    var functions: [Function] {
        onCall("purchase", .region(.asiaNortheast1), .memory(.gib(1)), .timeout(.seconds(240))) {
            (request: CallableRequest<NoData>, transaction: Transaction) in
            try await Purchase(buyer: request.requireAuth().uid).run(in: transaction)
        }
        onRequest("catalog", .region(.asiaNortheast1), .cors(.any)) { request in
            try await Catalog(request).page()
        }
    }
}
