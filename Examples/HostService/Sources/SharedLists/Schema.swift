// The record types, in Apple's schema language. The service runs in production mode: a type or a field that is missing
// here is refused, and a schema may only grow. So a mistake in a later version cannot change what is stored.

enum Schema {
    static let lists = """
        DEFINE SCHEMA

            RECORD TYPE List (
                "___recordID" REFERENCE QUERYABLE,
                title         STRING QUERYABLE SORTABLE
            );

            RECORD TYPE Item (
                "___createTime" TIMESTAMP QUERYABLE SORTABLE,
                "___recordID"   REFERENCE QUERYABLE,
                done            INT64,
                list            REFERENCE QUERYABLE,
                title           STRING
            );

            RECORD TYPE "cloudkit.share" (
                "cloudkit.title" STRING
            );
        """

    static let sessions = """
        DEFINE SCHEMA

            RECORD TYPE Code (
                codesLeft   INT64,
                expires     TIMESTAMP,
                guessesLeft INT64,
                hash        STRING
            );

            RECORD TYPE Token (
                account STRING,
                device  STRING,
                expires TIMESTAMP
            );
        """
}
